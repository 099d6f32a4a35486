import { type ComponentChildren, createContext } from 'preact'
import { useContext, useEffect, useMemo, useState } from 'preact/hooks'
import { type Calendar, calendarOf } from '../../../parts/wording/times.ts'
import { keptText } from '../data/kept.ts'
import type { Store } from '../data/store.ts'

const TICK_MS = 1_000

export type Page = {
  readonly store: Store
  /** The reader's time zone, or UTC on demand. */
  readonly calendar: Calendar
  readonly chooseZone: (zone: 'local' | 'UTC') => void
  /** Tries to connect at once. */
  readonly reconnect: () => void
}

const PageContext = createContext<Page | undefined>(undefined)
export const PageProvider = PageContext.Provider

export function usePage(): Page {
  const page = useContext(PageContext)
  if (page === undefined) throw new Error('used outside the page')
  return page
}

const keptZone = keptText('localStorage', 'tranched-times')

/** The page's values. The choice of UTC is remembered. */
export function useZone(store: Store, reconnect: () => void): Page {
  const [zone, setZone] = useState(keptZone.read() === 'UTC' ? 'UTC' : 'local')
  return useMemo(() => {
    const chooseZone: Page['chooseZone'] = (chosen) => {
      setZone(chosen)
      keptZone.write(chosen)
    }
    return { store, calendar: calendarOf(zone === 'UTC' ? zone : undefined), chooseZone, reconnect }
  }, [store, zone, reconnect])
}

const Now = createContext<number | undefined>(undefined)

/** The daemon's time, epoch ms in whole seconds; undefined while disconnected, when times relative to now would be wrong. */
export function useNow(): number | undefined {
  return useContext(Now)
}

export function Clock({ children }: { children: ComponentChildren }) {
  const { store } = usePage()
  const live = store.link.tag === 'live'
  const [, tick] = useState(0)
  useEffect(() => {
    if (!live) return
    let timer: ReturnType<typeof setTimeout>
    function wait() {
      // Slightly past the full second, so that no second is shown twice or skipped.
      timer = setTimeout(again, TICK_MS - (store.daemonNow() % TICK_MS) + 5)
    }
    function again() {
      if (!document.hidden) tick((ticks) => ticks + 1)
      wait()
    }
    wait()
    return () => clearTimeout(timer)
  }, [live, store])
  const now = live ? Math.floor(store.daemonNow() / TICK_MS) * TICK_MS : undefined
  return <Now.Provider value={now}>{children}</Now.Provider>
}

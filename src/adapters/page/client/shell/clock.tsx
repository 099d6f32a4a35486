import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { NowProvider, usePage } from './page-context.ts'

const TICK_MS = 1_000

/** Gives what lies in it the daemon's time, each second while the page is seen and connected. */
export function Clock({ children }: { children: ComponentChildren }) {
  const { store } = usePage()
  const live = store.link.tag === 'live'
  const [, tick] = useState(0)
  useEffect(() => {
    if (!live) return
    let timer: ReturnType<typeof setTimeout>
    function wait() {
      // A little past the full second, so that no second is shown twice or left out.
      timer = setTimeout(again, TICK_MS - (store.daemonNow() % TICK_MS) + 5)
    }
    function again() {
      if (!document.hidden) tick((ticks) => ticks + 1)
      wait()
    }
    wait()
    return () => clearTimeout(timer)
  }, [live, store])
  return (
    <NowProvider value={live ? wholeSecond(store.daemonNow()) : undefined}>{children}</NowProvider>
  )
}

/** Whole seconds: what is read within one second is the same everywhere. */
function wholeSecond(nowMs: number): number {
  return Math.floor(nowMs / TICK_MS) * TICK_MS
}

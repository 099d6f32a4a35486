import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { capitalised } from '../../../parts/wording/outcomes.ts'
import type { Store } from '../data/store.ts'
import { Panel } from '../panels/panel.tsx'
import { Ago } from '../parts/values.tsx'
import { Fills, Unfilled } from '../views/fills.tsx'
import { HoldingsView } from '../views/holdings.tsx'
import { Limits } from '../views/limits.tsx'
import { Orders } from '../views/orders.tsx'
import { Overview } from '../views/overview.tsx'
import { Strategies } from '../views/strategies.tsx'
import { Banners } from './banners.tsx'
import { CommandDialog } from './commands.tsx'
import { Clock, PageProvider, usePage, useZone } from './context.tsx'
import { DARK, Header } from './header.tsx'
import { createRouter, type Shown } from './route.ts'

/** Renders again whenever the store changes, except while the page is hidden. */
export function App({ store, reconnect }: { store: Store; reconnect(): void }) {
  const page = useZone(store, reconnect)
  const [, draw] = useState(0)
  useEffect(() => {
    const drawIfSeen = () => {
      if (!document.hidden) draw((drawn) => drawn + 1)
    }
    const unsubscribe = store.subscribe(drawIfSeen)
    const dark = matchMedia(DARK)
    dark.addEventListener('change', drawIfSeen)
    document.addEventListener('visibilitychange', drawIfSeen)
    return () => {
      unsubscribe()
      dark.removeEventListener('change', drawIfSeen)
      document.removeEventListener('visibilitychange', drawIfSeen)
    }
  }, [page])
  return (
    <PageProvider value={page}>
      <Clock>
        <Frame />
      </Clock>
    </PageProvider>
  )
}

function Frame() {
  const { store } = usePage()
  const { shown, closePanel, heading } = useRouter()
  const { overview } = store
  return (
    <div class="page" data-link={store.link.tag} data-mode={overview?.mode}>
      {/* biome-ignore lint/a11y/useValidAnchor: it goes to the content, and leaves the address, which is the view's. */}
      <a class="skip-link" href="#content" onClick={(event) => skipTo(event, heading.current)}>
        Skip to the content
      </a>
      <Header view={shown.view} />
      <main id="content">
        <Banners />
        <h2 class={shown.view === 'overview' ? 'unseen' : 'view-title'} tabIndex={-1} ref={heading}>
          {shown.view === 'unfilled' ? 'Slots without a fill' : capitalised(shown.view)}
          {shown.strategy === undefined ? '' : ` of ${shown.strategy}`}
        </h2>
        {overview === undefined ? (
          <p class="empty waiting">Loading from the daemon.</p>
        ) : (
          <View shown={shown} />
        )}
      </main>
      {overview !== undefined && (
        <footer class="bottom">
          <p>
            tranched {overview.version}, started <Ago atMs={overview.startedAtMs} />
          </p>
          <p>
            {overview.control
              ? 'Commands here need their token. A terminal can do more.'
              : 'This page is read-only: use a terminal to change anything.'}
          </p>
        </footer>
      )}
      <p class="unseen" role="status">
        {store.announcement}
      </p>
      <Panel panel={shown.panel} close={closePanel} />
      <CommandDialog />
    </div>
  )
}

function View({ shown: { view, strategy } }: { shown: Shown }): ComponentChildren {
  switch (view) {
    case 'overview':
      return <Overview />
    case 'strategies':
      return <Strategies />
    case 'orders':
      return <Orders />
    case 'fills':
      return <Fills strategy={strategy} />
    case 'unfilled':
      return <Unfilled key={strategy} strategy={strategy} />
    case 'holdings':
      return <HoldingsView />
    case 'limits':
      return <Limits key={strategy} strategy={strategy} />
  }
}

/** Opens a view at its top, or where it was left. Focuses its heading, so that keyboard navigation continues there. */
function useRouter() {
  const [, draw] = useState(0)
  const heading = useRef<HTMLHeadingElement>(null)
  const places = useRef(new Map<string, number>())
  const [router] = useState(() =>
    createRouter((before) => {
      places.current.set(before.view, scrollY)
      draw((drawn) => drawn + 1)
    }),
  )
  const shown = router.shown()
  const { view, strategy } = shown
  const wasShown = useRef(`${view}=${strategy}`)
  useLayoutEffect(() => {
    const address = `${view}=${strategy}`
    if (wasShown.current === address) return
    wasShown.current = address
    scrollTo({ top: places.current.get(view) ?? 0, behavior: 'instant' })
    heading.current?.focus({ preventScroll: true })
  }, [view, strategy])
  return { shown, closePanel: router.closePanel, heading }
}

function skipTo(event: Event, heading: HTMLElement | null): void {
  event.preventDefault()
  heading?.focus()
  heading?.scrollIntoView()
}

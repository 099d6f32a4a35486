import { render } from 'preact'
import type { Change } from '../model.ts'
import { daemon } from './data/daemon-requests.ts'
import { openLink } from './data/link.ts'
import { Store } from './data/store.ts'
import { iconOf, statusOf, titleOf } from './parts/labels.ts'
import { App } from './shell/app.tsx'
import { applyRememberedTheme } from './shell/header.tsx'

applyRememberedTheme()
const store = new Store(daemon, Date.now)
const link = openLink(
  {
    open: daemon.events,
    now: Date.now,
    after(delayMs, run) {
      const timer = setTimeout(run, delayMs)
      return () => clearTimeout(timer)
    },
    random: Math.random,
  },
  {
    refresh: () => refresh(),
    probe: () => store.probe(),
    change: (data) => store.take(JSON.parse(data) as Change),
    state: (state) => store.setLink(state),
  },
)

/** Reloads the page after the daemon's version changes, because another version serves another page. */
async function refresh(): Promise<void> {
  const before = store.overview?.version
  await store.refresh()
  if (before !== undefined && store.overview?.version !== before) location.reload()
}

/** Title and icon show the status even in a background tab. */
function updateTab(): void {
  const { overview } = store
  const title = titleOf(store.link, overview)
  if (document.title !== title) document.title = title
  const icon = document.querySelector<HTMLLinkElement>('link[rel=icon]')
  const href = iconOf(statusOf(store.link, overview).tone)
  if (icon !== null && icon.href !== href) icon.href = href
}

store.subscribe(updateTab)
document.addEventListener('visibilitychange', () => {
  if (!document.hidden) link.check()
})
addEventListener('online', () => link.check())

function mount(): void {
  const root = document.querySelector('#root')
  if (root !== null) render(<App store={store} reconnect={link.check} />, root)
}
if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', mount)
else mount()

import { render } from 'preact'
import { calendarOf } from '../../page-parts/words/times.ts'
import type { Change } from '../model.ts'
import { daemon } from './data/asking.ts'
import { openLink } from './data/link.ts'
import { Store } from './data/store.ts'
import { App } from './shell/app.tsx'
import { iconOf, statusOf, titleOf } from './shell/status.ts'
import { applyRememberedTheme } from './shell/theme.tsx'

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

/** A daemon of another version brings a page of its own. */
async function refresh(): Promise<void> {
  const before = store.overview?.version
  await store.refresh()
  if (before !== undefined && store.overview?.version !== before) location.reload()
}

/** The tab tells how it is while another one is looked at, too. */
function tellTab(): void {
  const { overview } = store
  const title = titleOf(store.link, overview)
  if (document.title !== title) document.title = title
  const icon = document.querySelector<HTMLLinkElement>('link[rel=icon]')
  const href = iconOf(statusOf(store.link, overview).tone)
  if (icon !== null && icon.href !== href) icon.href = href
}

store.subscribe(tellTab)
document.addEventListener('visibilitychange', () => {
  if (!document.hidden) link.check()
})
addEventListener('online', () => link.check())

function mount(): void {
  const root = document.querySelector('#root')
  if (root !== null) render(<App page={{ store, calendar: calendarOf() }} />, root)
}
if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', mount)
else mount()

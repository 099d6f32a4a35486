import { count } from '../../../page-parts/words/amounts.ts'
import { Icon } from '../parts/icon.tsx'
import { Pill } from '../parts/words.tsx'
import { VIEWS, type View, viewHash } from '../route.ts'
import { modeText } from '../words/phrases.ts'
import { useNow, usePage } from './page-context.ts'
import { statusOf } from './status.ts'
import { ThemeSwitch } from './theme.tsx'

export const VIEW_NAMES: Readonly<Record<View, string>> = {
  overview: 'Overview',
  strategies: 'Strategies',
  orders: 'Orders',
  fills: 'Fills',
  holdings: 'Holdings',
  limits: 'Limits',
}

export function Header({ view }: { view: View }) {
  const { store } = usePage()
  const { overview, link } = store
  const status = statusOf(link, overview)
  return (
    <header class="top">
      <div class="bar">
        <h1>
          <svg class="logo" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
            <path d="M1 2h14v3H1zM1 6.5h10v3H1zM1 11h6v3H1z" />
          </svg>
          <span class="brand">tranched</span>
        </h1>
        {overview !== undefined && (
          <p class={`mode ${overview.mode}`} title={modeText(overview.mode)}>
            <span class="word">{overview.mode}</span>
            <span class="meaning">{modeText(overview.mode).split(': ')[1] ?? ''}</span>
          </p>
        )}
        <Views view={view} />
        <p class="status">
          <Pill tone={status.tone}>{status.text}</Pill>
        </p>
        <WallClock />
        <ThemeSwitch />
      </div>
    </header>
  )
}

/** It stands still as soon as the page does not know any more what is. */
function WallClock() {
  const { calendar } = usePage()
  const now = useNow()
  return (
    <p class="wall-clock" aria-hidden="true">
      {now === undefined ? '--:--:--' : `${calendar.time(now)} ${calendar.zone(now)}`}
    </p>
  )
}

function Views({ view }: { view: View }) {
  const { store } = usePage()
  const counts = store.overview?.counts
  const numbers: Readonly<Partial<Record<View, number | undefined>>> = {
    strategies: counts?.strategies,
    orders: counts?.unresolved,
    fills: counts?.fills,
  }
  return (
    <nav class="views" aria-label="Views">
      {VIEWS.map((one) => (
        <a key={one} href={viewHash(one)} aria-current={one === view ? 'page' : undefined}>
          <Icon name={one} />
          <span class="text">{VIEW_NAMES[one]}</span>
          {numbers[one] !== undefined && <span class="number">{count(numbers[one])}</span>}
        </a>
      ))}
    </nav>
  )
}

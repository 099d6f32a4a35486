import { Pill } from '../../../parts/elements.tsx'
import { count } from '../../../parts/wording/amounts.ts'
import { capitalised } from '../../../parts/wording/outcomes.ts'
import { keptText } from '../data/kept.ts'
import { modeText, statusOf } from '../parts/labels.ts'
import { Icon } from '../parts/values.tsx'
import { HaltButton } from './commands.tsx'
import { useNow, usePage } from './context.tsx'
import { NAVIGATION, type View, viewHash } from './route.ts'

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
        <div class="tools">
          <HaltButton />
          <WallClock />
          <ZoneSwitch />
          <ThemeSwitch />
        </div>
      </div>
    </header>
  )
}

/** Shows dashes while the daemon's time is unknown. */
function WallClock() {
  const { calendar } = usePage()
  const now = useNow()
  return (
    <p class="wall-clock muted" aria-hidden="true">
      {now === undefined ? '--:--:--' : calendar.time(now)}
    </p>
  )
}

function ZoneSwitch() {
  const { calendar, chooseZone, store } = usePage()
  const zone = calendar.zone(store.daemonNow())
  const [next, name] =
    calendar.timeZone === 'UTC' ? (['local', 'local time'] as const) : (['UTC', 'UTC'] as const)
  const text = `Times in ${zone}. Change to ${name}.`
  return (
    <button
      type="button"
      class="icon-button zone"
      aria-label={text}
      title={text}
      onClick={() => chooseZone(next)}
    >
      {zone}
    </button>
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
      {NAVIGATION.map((one) => (
        <a
          key={one}
          href={viewHash(one)}
          aria-current={one === (view === 'unfilled' ? 'fills' : view) ? 'page' : undefined}
        >
          <Icon name={one} />
          <span class="text">{capitalised(one)}</span>
          {numbers[one] !== undefined && <span class="number">{count(numbers[one])}</span>}
        </a>
      ))}
    </nav>
  )
}

const keptTheme = keptText('localStorage', 'tranched-theme')
export const DARK = '(prefers-color-scheme: dark)'
const CHOICES = ['system', 'light', 'dark'] as const
type Choice = (typeof CHOICES)[number]

export function themeInEffect(): 'light' | 'dark' {
  const choice = chosen()
  if (choice !== 'system') return choice
  return matchMedia(DARK).matches ? 'dark' : 'light'
}

function chosen(): Choice {
  return choiceIn(document.documentElement.dataset['theme'])
}

function choiceIn(text: string | undefined): Choice {
  return CHOICES.find((choice) => choice === text) ?? 'system'
}

/** Runs before the first paint, so that nothing flashes. */
export function applyRememberedTheme(): void {
  apply(choiceIn(keptTheme.read()))
}

function apply(choice: Choice): void {
  document.documentElement.dataset['theme'] = choice
}

const NAMES: Readonly<Record<Choice, string>> = {
  system: 'same as the system',
  light: 'light',
  dark: 'dark',
}

function ThemeSwitch() {
  const { store } = usePage()
  const choice = chosen()
  function choose() {
    apply(next)
    keptTheme.write(next)
    store.notify()
  }
  const next = CHOICES[(CHOICES.indexOf(choice) + 1) % CHOICES.length] ?? 'system'
  const text = `Colours: ${NAMES[choice]}. Change to ${NAMES[next]}.`
  return (
    <button type="button" class="icon-button" aria-label={text} title={text} onClick={choose}>
      <Icon name={choice} />
    </button>
  )
}

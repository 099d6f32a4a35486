import { shortAmountsIn } from '../../../parts/wording/amounts.ts'
import type { Tone } from '../../../parts/wording/outcomes.ts'
import { agoText, momentsIn, untilText } from '../../../parts/wording/times.ts'
import { useNow, usePage } from '../shell/context.tsx'
import { shortHash, webAddress } from './labels.ts'

export function Ago({ atMs }: { atMs: number }) {
  const now = useNow()
  return <Moment atMs={atMs} text={now === undefined ? undefined : agoText(atMs, now)} />
}

export function Moment(props: { atMs: number; zone?: boolean; text?: string | undefined }) {
  const { calendar, store } = usePage()
  const now = useNow() ?? store.daemonNow()
  const { atMs, text = calendar.moment(atMs, now) } = props
  const iso = new Date(atMs).toISOString()
  return (
    <time dateTime={iso} title={`${calendar.full(atMs)}, ${iso.replace(/\.\d+/, '')}`}>
      {text}
      {props.zone ? ` ${calendar.zone(atMs)}` : ''}
    </time>
  )
}

/** The time at which money was read. */
export function AsOf({ atMs }: { atMs: number }) {
  return (
    <>
      as of <Moment atMs={atMs} />
    </>
  )
}

/** A text of the daemon: its amounts with separators and without excess digits, its UTC moments in the page's time zone. */
export function Said({ text, nearMs }: { text: string; nearMs?: number }) {
  const { calendar, store } = usePage()
  return <>{shortAmountsIn(momentsIn(text, calendar, nearMs ?? store.daemonNow()))}</>
}

/** Time until a moment; the moment itself while disconnected. */
export function Until({ atMs, over = 'now' }: { atMs: number; over?: string }) {
  const { calendar, store } = usePage()
  const now = useNow()
  if (now === undefined)
    return <span class="until">at {calendar.moment(atMs, store.daemonNow())}</span>
  return <span class="until">{atMs <= now ? over : untilText(atMs, now)}</span>
}

export function OnChain({ hash, url, what }: { hash: string; url: string | null; what: string }) {
  const href = webAddress(url)
  const text = <span class="hash">{shortHash(hash)}</span>
  if (href === undefined) return <span title={hash}>{text}</span>
  return (
    <a
      class="out"
      href={href}
      target="_blank"
      rel="noopener noreferrer"
      title={hash}
      aria-label={`${what} ${shortHash(hash)} in the explorer`}
    >
      {text}
      <Icon name="out" />
    </a>
  )
}

/** Inline, so nothing is loaded. Icons repeat the text beside them. */
const ICONS = {
  overview: 'M3 12.5 10 5l4 4 7-7M3 20h18',
  strategies: 'M4 6h16M4 12h10M4 18h13',
  orders: 'M12 3a9 9 0 1 0 9 9M12 7v5l3 2',
  fills: 'm4 12 5 5L20 6',
  holdings: 'M4 8h16v12H4zM4 8l3-4h10l3 4M15 14h2',
  limits: 'M4 17a8 8 0 0 1 16 0M12 17l4-6',
  close: 'M6 6l12 12M18 6 6 18',
  out: 'M9 5h10v10M19 5 6 18',
  system: 'M12 3a9 9 0 1 0 0 18zM12 3a9 9 0 0 1 0 18',
  light:
    'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8M12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.4 1.4M17.6 17.6 19 19M19 5l-1.4 1.4M6.4 17.6 5 19',
  dark: 'M20 14.5A8.5 8.5 0 1 1 9.5 4a7 7 0 0 0 10.5 10.5z',
} as const

export function Icon({ name }: { name: keyof typeof ICONS }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={ICONS[name]} />
    </svg>
  )
}

export function Meter({ share, tone, label }: { share: number; tone: Tone; label: string }) {
  const filled = Math.max(0, Math.min(1, share))
  return (
    // biome-ignore lint/a11y/useSemanticElements: a <meter> looks different in each browser.
    <span
      class={`meter ${tone}`}
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round(filled * 100)}
    >
      <span class="filled" style={{ transform: `scaleX(${filled})` }} />
    </span>
  )
}

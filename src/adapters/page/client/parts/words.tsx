import type { ComponentChildren } from 'preact'
import { fullAmount, shortAmount } from '../../../page-parts/words/amounts.ts'
import type { Tone } from '../../../page-parts/words/outcomes.ts'
import { agoText, untilText } from '../../../page-parts/words/times.ts'
import type { Amount as AmountOf } from '../../model.ts'
import { useNow, usePage } from '../shell/page-context.ts'
import { shortHash, webAddress } from '../words/phrases.ts'
import { Icon } from './icon.tsx'

/** A state in one word. The mark before it has another shape for each tone: colour is never all there is. */
export function Pill({ tone, children }: { tone: Tone; children: ComponentChildren }) {
  return (
    <span class={`pill ${tone}`}>
      <span class="mark" aria-hidden="true" />
      {children}
    </span>
  )
}

export function Amount({ of }: { of: AmountOf }) {
  return (
    <span class="amount" title={`${fullAmount(of.amount)} ${of.token}`}>
      {shortAmount(of.amount)} <span class="token">{of.token}</span>
    </span>
  )
}

/** A command that somebody types; a click selects all of it. */
export function Command({ children }: { children: ComponentChildren }) {
  return <code class="command">{children}</code>
}

/** How long ago; the time itself while not connected. */
export function Ago({ atMs }: { atMs: number }) {
  const { calendar, store } = usePage()
  const now = useNow()
  return (
    <time dateTime={new Date(atMs).toISOString()} title={calendar.full(atMs)}>
      {now === undefined ? calendar.moment(atMs, store.daemonNow()) : agoText(atMs, now)}
    </time>
  )
}

/** A moment by the reader's own zone, with the day where it is not today. */
export function Moment({ atMs, zone = false }: { atMs: number; zone?: boolean }) {
  const { calendar, store } = usePage()
  const now = useNow()
  return (
    <time dateTime={new Date(atMs).toISOString()} title={calendar.full(atMs)}>
      {calendar.moment(atMs, now ?? store.daemonNow())}
      {zone ? ` ${calendar.zone(atMs)}` : ''}
    </time>
  )
}

/** How long until; the time itself while not connected. */
export function Until({ atMs, over = 'now' }: { atMs: number; over?: string }) {
  const { calendar, store } = usePage()
  const now = useNow()
  if (now === undefined)
    return <span class="until">at {calendar.moment(atMs, store.daemonNow())}</span>
  return <span class="until">{atMs <= now ? over : untilText(atMs, now)}</span>
}

/** A hash or an address, with a link to the chain's explorer where there is one. */
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

/** What is not known or does not apply. */
export function Unknown({ children = 'not known' }: { children?: ComponentChildren }) {
  return <span class="unknown">{children}</span>
}

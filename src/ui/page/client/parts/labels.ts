import { shortAmount } from '../../../parts/wording/amounts.ts'
import { outcomeTone, plain, type Tone } from '../../../parts/wording/outcomes.ts'
import type { FillRow, LimitRow, OrderRow, Overview, StrategyRow } from '../../model.ts'
import type { LinkState } from '../data/link.ts'

export const STRATEGY_TONES: Readonly<Record<StrategyRow['state'], Tone>> = {
  active: 'good',
  finished: 'quiet',
  paused: 'warn',
  disabled: 'quiet',
  removed: 'quiet',
}

/** States in the sequence that an order passes through. */
const ORDER_STATES: Readonly<Record<string, readonly [tone: Tone, meaning: string]>> = {
  planned: ['quiet', 'Decided and queued; nothing is signed.'],
  exposed: ['busy', 'Signed and perhaps submitted; the service has not confirmed it.'],
  accepted: ['busy', 'The service has accepted it.'],
  lapsing: [
    'warn',
    'Ended by the service; its signature may still execute until the chain proves otherwise.',
  ],
  filled: ['good', 'Proven by the chain; only follow-up work is left.'],
}

export const ORDER_STATE_NAMES = Object.keys(ORDER_STATES)

export function orderTone({ state, overdue }: OrderRow): Tone {
  return overdue ? 'bad' : (ORDER_STATES[state]?.[0] ?? 'quiet')
}

export function orderMeaning(state: string): string {
  return ORDER_STATES[state]?.[1] ?? ''
}

const MODES: Readonly<Record<string, string>> = {
  live: 'Live: real money',
  'dry-run': 'Dry-run: nothing is signed',
  sandbox: 'Sandbox: play money',
}

export function modeText(mode: string): string {
  return MODES[mode] ?? mode
}

export const WINDOWS: Readonly<Record<LimitRow['window'], string>> = {
  hour: 'per hour',
  day: 'per day',
  week: 'per week',
  total: 'in total',
}

/** A full `total` is normal: a TWAP schedule is meant to use it up. */
export function shareTone({ share, window }: LimitRow): Tone {
  if (share >= 1) return window === 'total' ? 'quiet' : 'bad'
  return share >= 0.8 ? 'warn' : 'good'
}

/** `sold 25 USDC for 0.0083 WETH`, or the call. */
export function fillText({ sold, bought, call }: FillRow): string {
  if (sold === null || bought === null) return call === null ? 'filled' : `called ${call}`
  const amount = (of: { amount: string; token: string }) => `${shortAmount(of.amount)} ${of.token}`
  return `sold ${amount(sold)} for ${amount(bought)}`
}

type Attention = { readonly tone: Tone; readonly word: string; readonly text: string }

/** Why a strategy needs attention; undefined if it does what its file says. */
export function attentionOf(row: StrategyRow): Attention | undefined {
  const { state, paused, waits, lastSlot } = row
  if (state === 'paused') {
    const text = paused === null ? '' : plain(paused.cause) + after(paused.detail)
    return { tone: 'warn', word: 'paused', text }
  }
  if (state !== 'active') return undefined
  if (waits !== null) return { tone: 'warn', word: 'waits', text: waits }
  if (lastSlot === null) return undefined
  const { outcome, reason, detail } = lastSlot
  const tone = outcomeTone(outcome)
  if (tone !== 'bad' && tone !== 'warn') return undefined
  // Orders by hand have no schedule, so none of them can be missed.
  if (outcome === 'missed' && row.schedule === '') return undefined
  return { tone, word: outcome, text: plain(reason ?? '') + after(detail) }
}

function after(detail: string | null): string {
  return detail === null || detail === '' ? '' : `, ${detail}`
}

/** `0x1234…cdef` for an address or a hash. */
export function shortHash(hash: string): string {
  return hash.length <= 14 ? hash : `${hash.slice(0, 6)}…${hash.slice(-4)}`
}

export function webAddress(text: string | null): string | undefined {
  if (text === null || !URL.canParse(text)) return undefined
  const { protocol, href } = new URL(text)
  return protocol === 'https:' || protocol === 'http:' ? href : undefined
}

type Status = { readonly tone: Tone; readonly text: string }

/** The worst condition wins. */
export function statusOf(link: LinkState, overview: Overview | undefined): Status {
  if (link.tag === 'lost') return { tone: 'bad', text: 'Not connected' }
  if (link.tag === 'connecting' || overview === undefined)
    return { tone: 'quiet', text: 'Connecting' }
  if (overview.halted !== null) return { tone: 'bad', text: 'Halted' }
  if (!overview.ready.ok) return { tone: 'warn', text: 'Not ready' }
  if (overview.counts.overdue > 0) return { tone: 'warn', text: 'Overdue' }
  return { tone: 'good', text: 'Ready' }
}

/** The status comes first, because a tab is narrow. */
export function titleOf(link: LinkState, overview: Overview | undefined): string {
  const { tone, text } = statusOf(link, overview)
  const mode = overview === undefined ? '' : ` · ${overview.mode}`
  return tone === 'good' ? `tranched${mode}` : `${text} · tranched${mode}`
}

const MARKS: Readonly<Record<Tone, string>> = {
  good: '#2fa36b',
  bad: '#d33c3c',
  warn: '#c98a12',
  busy: '#3f7fe0',
  quiet: '#7d8795',
}

export function iconOf(tone: Tone): string {
  const slices = [
    ['2', '#8a94a3'],
    ['6.5', '#8a94a3'],
    ['11', MARKS[tone]],
  ]
  const drawn = slices.map(
    ([y, colour]) => `<rect x="1" y="${y}" width="14" height="3" fill="${colour}"/>`,
  )
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">${drawn.join('')}</svg>`
  return `data:image/svg+xml,${encodeURIComponent(svg)}`
}

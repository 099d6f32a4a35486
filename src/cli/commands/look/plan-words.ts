import type { Decision } from '../../../decide/decision.ts'
import type { LimitHit } from '../../../domain/book/limits.ts'
import { bookOf } from '../../../domain/book/venues.ts'
import type { Intent } from '../../../domain/intent.ts'
import { type Asset, ETHER, type Token } from '../../../domain/token.ts'
import { formatBrief } from '../../../domain/units.ts'
import { keyOfLimit } from '../../../engine/cap-warnings.ts'
import { amountData } from '../../amount-data.ts'
import { durationText } from '../../describe.ts'
import type { AmountData } from '../../json/shapes.ts'

/**
 * What a decision would do, in words, and the most that its orders would sell. `freesInTime`: whether a slot would wait for a cap
 * or a cooldown that frees at a moment.
 */
export function decisionWords(
  decision: Decision,
  {
    nowMs,
    freesInTime,
  }: { readonly nowMs: number; readonly freesInTime: (freesAtMs: number | undefined) => boolean },
): { readonly does: string; readonly sells: readonly AmountData[] } {
  if (decision.tag === 'skip') {
    const { reason, detail, hit } = decision
    const waits = freesInTime(hit?.freesAtMs ?? decision.freesAtMs)
    const text =
      hit === undefined
        ? `${waits ? 'wait' : 'skip'}: ${reason}, ${detail}`
        : `${waits ? 'would wait for' : 'would be skipped by'} ${limitWords(hit, nowMs)}`
    return { does: text, sells: [] }
  }
  const { intents } = decision
  return { does: intents.map(orderWords).join('; '), sells: intents.map(mostOf) }
}

function limitWords(
  { reason, asked, used, cap, token, freesAtMs }: LimitHit,
  nowMs: number,
): string {
  const text = (amount: bigint): string => formatBrief(amount, token.decimals)
  const again =
    freesAtMs === undefined ? '' : `; it fits again in ${durationText(freesAtMs - nowMs)}`
  return `${keyOfLimit(reason)}: ${text(asked)} ${token.symbol} asked, ${text(used)} of ${text(cap)} used${again}`
}

function orderWords(intent: Intent): string {
  if (intent.venue !== 'gasless') return bookOf(intent).wordsOf(intent)
  const { sell, buy, size } = intent
  return size.side === 'sell'
    ? `sell ${briefText(size.amount, sell)} for ${shownToken(buy).symbol}`
    : `buy ${briefText(size.amount, buy)} with ${shownToken(sell).symbol}`
}

function mostOf(intent: Intent): AmountData {
  const { token, amount } = bookOf(intent).mostOf(intent)
  const sold = intent.venue === 'gasless' ? shownToken(intent.sell) : token
  return amountData(amount, sold)
}

/** Six digits at the most, with the name that the strategy's file uses. */
export function briefText(amount: bigint, asset: Asset): string {
  const { decimals, symbol } = shownToken(asset)
  return `${formatBrief(amount, decimals)} ${symbol}`
}

/** ETH where the strategy says so. */
export function shownToken({ token, native }: Asset): Token {
  return native ? ETHER : token
}

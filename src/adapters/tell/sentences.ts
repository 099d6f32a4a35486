import { briefText } from '../../domain/amount-text.ts'
import { costWords, savedOf } from '../../domain/book/costs.ts'
import type { Moved } from '../../domain/book/orders.ts'
import { codeText } from '../../domain/contract.ts'
import { formatAmount } from '../../domain/units.ts'
import { instantText, type Observed } from './observers.ts'

/**
 * Log lines that are sent to webhooks as well: the sentence as `text`, and the same for programs as `details`. Amounts are exact
 * in the details and short in the sentence.
 */

/** Amounts are decimal text. */
export type Details = Readonly<Record<string, string | number>>

export type Sentence = { readonly text: string; readonly details: Details }

const ETHER_DECIMALS = 18

export function filledSentence(event: Observed<'filled'>): Sentence {
  const { strategy, venue, sell, buy, txHash, durationMs } = event
  const paid = formatAmount(event.paid, sell.decimals)
  const received = formatAmount(event.received, buy.decimals)
  const moved = `${briefText(event.paid, sell)} -> ${briefText(event.received, buy)}`
  const details = { venue, sell: sell.symbol, buy: buy.symbol, paid, received, txHash, durationMs }
  return { text: `filled ${strategy}: ${moved} in ${tookText(durationMs)}`, details }
}

/** What it cost is told even when sharing saved nothing. */
export function executedSentence(event: Observed<'executed'>): Sentence {
  const { strategy, venue, label, txHash, durationMs, costs } = event
  const { charged, blob } = costs
  const saved = savedOf(costs)
  const cost = costWords(costs)
  const text = `executed ${strategy}: ${label} (${venue}) in ${tookText(durationMs)}${cost === undefined ? '' : `, ${cost}`}`
  const ether = (wei: bigint): string => formatAmount(wei, ETHER_DECIMALS)
  const details = {
    venue,
    label,
    txHash,
    durationMs,
    ...(charged === undefined ? {} : { chargedEther: ether(charged) }),
    ...(saved === undefined ? {} : { savedEther: ether(saved) }),
    ...(blob === undefined ? {} : { blobEther: ether(blob) }),
  }
  return { text, details }
}

export function paperSentence({ strategy, venue, moved }: Observed<'paper-filled'>): Sentence {
  const text = `paper filled ${strategy}: ${movedText(moved)}, at the quote; nothing was signed`
  return { text, details: { venue, paper: 'yes' } }
}

export function reopenedSentence(event: Observed<'fill-reopened'>): Sentence {
  const { strategy, venue, attempt, moved } = event
  const text = `a reorganisation undid ${strategy}: ${movedText(moved)}; it is open again, and nothing is signed for it`
  return { text, details: { venue, attempt } }
}

export function refusedSentence({ strategy, reason, detail }: Observed<'refused'>): Sentence {
  return { text: `refused ${strategy}: ${reason}, ${detail}`, details: { reason, detail } }
}

export function failedSentence({ strategy, venue, reason, detail }: Observed<'failed'>): Sentence {
  return { text: `failed ${strategy}: ${reason}, ${detail}`, details: { venue, reason, detail } }
}

export function pauseSentence(event: Observed<'pause'>): Sentence {
  const { strategy, paused, cause, detail } = event
  const what = strategy ?? 'everything'
  if (!paused) {
    const told = detail === 'resumed' ? '' : `: ${detail}`
    return { text: `resumed ${what}${told}`, details: { cause, detail } }
  }
  const done = strategy === undefined ? 'halted' : 'paused'
  return { text: `${done} ${what}: ${detail}`, details: { cause, detail } }
}

export function holdSentence({ strategy, held, detail }: Observed<'hold'>): Sentence {
  const text = held ? `held ${strategy}: ${detail}` : `released ${strategy}: ${detail}`
  return { text, details: { detail } }
}

export function codeSentence(event: Observed<'contract-code'>): Sentence {
  const { name, address, status, code, before } = event
  const details = { contract: name, address, status, code: codeText(code) }
  if (status === 'seen') return { text: `first saw ${name}: ${codeText(code)}`, details }
  const was = before === undefined ? '' : `, before ${codeText(before)}`
  const text =
    status === 'accepted'
      ? `an operator accepted the code of ${name}: ${codeText(code)}${was}`
      : `the code of ${name} (${address}) changed: ${codeText(code)}${was}. Nothing that depends on it is signed before \`tranched approve ${name}\``
  return { text, details }
}

export function programSentence(event: Observed<'program-ended'>): Sentence {
  const { strategy, slotSeconds, token, rule } = event
  const [unsold, total] = [event.unsold, event.total].map((amount) =>
    formatAmount(amount, token.decimals),
  )
  const then =
    rule === 'drop'
      ? 'which `unsold: drop` gives up'
      : `and no slice is left; \`tranched trigger ${strategy}\` sells it now`
  const text = `${strategy} is over: ${unsold} of ${total} ${token.symbol} are not sold, ${then}`
  const details = { slotSeconds, token: token.symbol, unsold: `${unsold}`, total: `${total}` }
  return { text, details }
}

/** Of a slot, or a run of missed ones. Such a run goes by its last slot. */
export function slotSentence(event: Observed<'slot-closed'>): Sentence {
  const { strategy, slotSeconds, lastSeconds, outcome, reason, detail, count } = event
  const why = reason === outcome ? '' : ` (${reason})`
  const first = instantText(slotSeconds)
  const which =
    count === 1 ? first : `${count ?? 'many'} slots from ${first} to ${instantText(lastSeconds)}`
  const text = `${outcome} ${strategy} ${which}${why}${detail === undefined ? '' : `: ${detail}`}`
  return { text, details: { slotSeconds: lastSeconds, reason, count: count ?? 1 } }
}

export function disbelievedSentence(event: Observed<'disbelieved'>): Sentence {
  const { service, what, intentId, detail } = event
  const text = `not believed of ${intentId ?? 'the service'}: ${detail}`
  return { text, details: { service, what } }
}

export function fundsUnknownSentence(event: Observed<'gas-tank-unknown'>): Sentence {
  const { account, isLogin, message } = event
  const why = isLogin ? 'the service does not accept the login of its wallet' : 'no answer'
  const text = `the funds of ${account} in the GasTank are unknown, ${why}: ${message}`
  return { text, details: { account } }
}

export function gasTankLowSentence(event: Observed<'gas-tank-low'>): Sentence {
  const { account } = event
  const available = formatAmount(event.available, ETHER_DECIMALS)
  const text = `the GasTank of ${account} has ${available} ETH left, below gasTank.alertBelow`
  return { text, details: { account, available } }
}

export function topUpCappedSentence({ account }: Observed<'top-up-capped'>): Sentence {
  const text = `the GasTank of ${account} is not topped up: gasTank.topUp.maxPerDay is reached`
  return { text, details: { account } }
}

export function topUpBarredSentence({ account, message }: Observed<'top-up-barred'>): Sentence {
  const text = `the GasTank of ${account} is not topped up: ${message}`
  return { text, details: { account } }
}

function movedText(moved: Moved): string {
  return 'call' in moved ? moved.call : `${moved.paid} -> ${moved.received}`
}

function tookText(durationMs: number): string {
  return `${(durationMs / 1_000).toFixed(1)} s`
}

import { amountText } from '../../domain/money/amount-text.ts'
import { ETHER } from '../../domain/money/token.ts'
import type { ChainSettings } from '../../domain/settings.ts'
import { outsideText } from '../../domain/text/outside-text.ts'

/**
 * A message for people: the subject alone on a locked phone, then two or three short lines (its meaning, the daemon's
 * current action, what to do). Commands are in backticks.
 */
export type Text = {
  readonly subject: string
  readonly lines: readonly string[]
  /** The transaction's page in the chain's explorer. */
  readonly link?: string | undefined
}

export type TextContext = {
  /** IANA time zone of messages. */
  readonly timezone: string
  readonly swapChain: Pick<ChainSettings, 'name' | 'explorer'>
  /** The chain of calls; undefined if the config has no aggregator. */
  readonly callChain: Pick<ChainSettings, 'name' | 'explorer'> | undefined
}

const SAID_LENGTH_MAX = 240
/** Text from outside must not become a link that can be tapped on a phone. */
const WEB_ADDRESS = /(?:\b[a-z][a-z0-9+.-]*:\/\/|\bwww\.)[^\s"'<>]+/gi

/** Sanitizes text from outside, or with parts from outside: one line, cut, without web addresses. */
export function said(detail: string): string {
  return outsideText(detail.replace(WEB_ADDRESS, '[address]').replace(/\s+/g, ' '), SAID_LENGTH_MAX)
}

/** The same as one sentence; empty without text. */
export function sentence(detail: string): readonly string[] {
  const text = said(detail)
  return text === '' ? [] : [sentenceOf(text)]
}

export function sentenceOf(text: string): string {
  const start = text.charAt(0).toUpperCase() + text.slice(1)
  return /[.!?]$/.test(start) ? start : `${start}.`
}

const TRANSACTION = /^0x[0-9a-f]{64}$/i

/** Exact, for comparison with a setting. */
export function etherExact(wei: bigint): string {
  return amountText(wei, ETHER)
}

/**
 * A transaction's page in an explorer; undefined if the explorer's address has a query, fragment or user name, which could
 * be a credential.
 */
export function transactionLink(
  chain: Pick<ChainSettings, 'explorer'> | undefined,
  hash: string,
): string | undefined {
  if (chain?.explorer === undefined || !TRANSACTION.test(hash)) return undefined
  const { origin, pathname, search, hash: fragment, username } = new URL(chain.explorer)
  if (search !== '' || fragment !== '' || username !== '') return undefined
  return `${origin}${pathname.replace(/\/+$/, '')}/tx/${hash}`
}

/** The command that explains the slot of an order. */
export function whyCommand(intentId: string): string {
  return `\`tranched why ${intentId.slice(0, intentId.lastIndexOf(':'))}\``
}

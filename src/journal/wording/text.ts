import { amountText } from '../../domain/money/amount-text.ts'
import { ETHER } from '../../domain/money/token.ts'
import type { ChainSettings } from '../../domain/settings.ts'
import { outsideText } from '../../domain/text/outside-text.ts'

/**
 * What a person reads: the subject alone on a locked phone, then two or three short lines (what it means, what the daemon does now,
 * what is to be done). Commands stand between backticks.
 */
export type Text = {
  readonly subject: string
  readonly lines: readonly string[]
  /** The transaction in the chain's explorer. */
  readonly link?: string | undefined
}

/** What a text needs to know beside what has happened. */
export type TextContext = {
  /** IANA zone of times in messages. */
  readonly timezone: string
  readonly swapChain: Pick<ChainSettings, 'name' | 'explorer'>
  /** Of calls; undefined where the config has no aggregator. */
  readonly callChain: Pick<ChainSettings, 'name' | 'explorer'> | undefined
}

const SAID_LENGTH_MAX = 240
/** Text from outside must not become a link that someone taps on a phone. */
const WEB_ADDRESS = /(?:\b[a-z][a-z0-9+.-]*:\/\/|\bwww\.)[^\s"'<>]+/gi

/** Text that comes from outside, or may hold such: one line, cut, without web addresses. */
export function said(detail: string): string {
  return outsideText(detail.replace(WEB_ADDRESS, '[address]').replace(/\s+/g, ' '), SAID_LENGTH_MAX)
}

/** The same as a sentence of its own; nothing where nothing was said. */
export function sentence(detail: string): readonly string[] {
  const text = said(detail)
  return text === '' ? [] : [sentenceOf(text)]
}

/** Words as a sentence of their own. */
export function sentenceOf(text: string): string {
  const start = text.charAt(0).toUpperCase() + text.slice(1)
  return /[.!?]$/.test(start) ? start : `${start}.`
}

const TRANSACTION = /^0x[0-9a-f]{64}$/i

/** Exact, for comparing with a setting. */
export function etherExact(wei: bigint): string {
  return amountText(wei, ETHER)
}

/** A transaction's page in an explorer; none if the explorer's address holds more than a place, which could be a credential. */
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

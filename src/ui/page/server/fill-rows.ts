import { ETHER, type Token } from '../../../domain/money/token.ts'
import { formatAmount } from '../../../domain/money/units.ts'
import type { ChainSettings } from '../../../domain/settings.ts'
import type { FillEntry } from '../../../journal/ledger/entry.ts'
import type { RouteName } from '../../../venues/projections.ts'
import type { Amount, FillRow } from '../model.ts'

export type FillOnRecord = {
  readonly seq: number
  readonly atMs: number
  readonly undone: boolean
  readonly fill: FillEntry | BareFill
}

/** A fill known only from its own record, without what it traded. */
export type BareFill = {
  readonly type: 'bare'
  readonly strategy: string
  readonly intentId: string
  readonly venue: RouteName
  readonly paper: boolean
  readonly txHash: string | undefined
}

export type Explorers = Readonly<Record<RouteName, ReturnType<typeof createExplorer>>>

export function fillRow({ atMs, undone, fill }: FillOnRecord, explorers: Explorers): FillRow {
  const { strategy, intentId, paper, txHash } = fill
  const venue = fill.type === 'trade' ? 'gasless' : fill.venue
  return {
    intentId,
    strategy,
    // `<strategy>:<slot>:<leg>`
    slotSeconds: Number(intentId.split(':')[1] ?? 0),
    atMs,
    venue,
    paper,
    sold: null,
    bought: null,
    call: null,
    vsFeedBps: null,
    charged: null,
    ...movedIn(fill),
    txHash: txHash ?? null,
    explorerUrl: explorers[venue].transaction(txHash),
    undone,
  }
}

function movedIn(fill: FillEntry | BareFill): Partial<FillRow> {
  switch (fill.type) {
    case 'trade':
      return {
        sold: amountOf(fill.paid, fill.sell),
        bought: amountOf(fill.received, fill.buy),
        vsFeedBps: fill.vsFeedBps ?? null,
      }
    case 'call': {
      const { label, charged } = fill
      return { call: label, charged: charged === undefined ? null : amountOf(charged, ETHER) }
    }
    case 'bare':
      return {}
  }
}

export function amountOf(amount: bigint, { symbol, decimals }: Token): Amount {
  return { amount: formatAmount(amount, decimals), token: symbol }
}

const HASH = /^0x[0-9a-f]{64}$/
const ADDRESS = /^0x[0-9a-f]{40}$/

/**
 * Links to a chain's block explorer; null if none is configured, or for an invalid hash or address. Omits credentials and
 * query of the configured URL, which may contain a token.
 */
export function createExplorer(chain: Pick<ChainSettings, 'explorer'> | undefined) {
  const address = chain?.explorer ?? ''
  const url = URL.canParse(address) ? new URL(address) : undefined
  const base = url && `${url.origin}${url.pathname.replace(/\/+$/, '')}`
  const link = (part: string, subject: string, shape: RegExp): string | null =>
    base !== undefined && shape.test(subject) ? `${base}/${part}/${subject}` : null
  return {
    transaction: (hash: string | undefined = ''): string | null => link('tx', hash, HASH),
    address: (subject: string): string | null => link('address', subject, ADDRESS),
  }
}

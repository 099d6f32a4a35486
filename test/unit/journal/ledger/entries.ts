import type { Token } from '../../../../src/domain/money/token.ts'
import type {
  CallEntry,
  GasEntry,
  Trade,
  UnprovenEntry,
} from '../../../../src/journal/ledger/entry.ts'
import { bytes32 } from '../../../support/state/journal-events.ts'

/** Minimal tokens and ledger entries. */

function token(symbol: string, decimals: number, byte: string): Token {
  return { symbol, chain: 'base', chainId: 8453, address: `0x${byte.repeat(20)}`, decimals }
}

export const USDC = token('USDC', 6, 'b1')
export const WETH = token('WETH', 18, 'b2')
export const DAI = token('DAI', 18, 'b3')

const ORDER = { atMs: 0, strategy: 'weekly-eth', intentId: 'weekly-eth:1:0', paper: false } as const

/** 25 USDC for 0.01 WETH by default. */
export function aTrade(changes: Partial<Trade> = {}): Trade {
  return {
    ...{ type: 'trade', ...ORDER, sell: USDC, buy: WETH },
    ...{ paid: 25_000_000n, received: 10n ** 16n, vsFeedBps: undefined, fee: undefined },
    txHash: bytes32(1),
    ...changes,
  }
}

export function aCall(changes: Partial<CallEntry> = {}): CallEntry {
  return {
    ...{ type: 'call', ...ORDER, venue: 'aggregated', label: 'claim(address)' },
    ...{ value: 0n, charged: 5n, blob: 0n, txHash: bytes32(2) },
    ...changes,
  }
}

export function someGas(changes: Partial<GasEntry> = {}): GasEntry {
  const { paper: _, ...order } = ORDER
  return { type: 'gas', ...order, purpose: 'wrap', fee: 7n, txHash: bytes32(3), ...changes }
}

export function unproven(changes: Partial<UnprovenEntry> = {}): UnprovenEntry {
  const { paper: _, ...order } = ORDER
  return { type: 'unproven', ...order, token: USDC, booked: 25_000_000n, ...changes }
}

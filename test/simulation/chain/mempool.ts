import { intrinsicGas } from '../../../src/domain/money/gas.ts'
import type { Address, Hex } from '../../../src/domain/money/units.ts'
import type { SeededRandom } from '../../../src/domain/random.ts'
import type { TransactionDraft, Transfer } from '../../../src/ports.ts'
import { fingerprint } from '../../support/random-hex.ts'
import { decodeTransaction } from '../signer.ts'
import type { VirtualClock } from '../virtual-clock.ts'
import { type Ledger, POOL, Timeline } from './ledger.ts'

const GAS_USED = 50_000n
const DEPOSIT = '0xd0e30db0'
const WITHDRAW = '0x2e1a7d4d'
const APPROVE = '0x095ea7b3'

export type MempoolOptions = {
  readonly ledger: Ledger
  readonly clock: VirtualClock
  readonly random: SeededRandom
  /** Probability that a transaction is accepted and never seen again. */
  readonly loses: () => number
  /** Blocks until a transaction is mined, at most. */
  readonly delayBlocksMax: () => number
}

/** Pending transactions of wallets. Executes approvals, wrapping and unwrapping by their calldata. */
export class Mempool {
  readonly #options: MempoolOptions
  readonly #nonces = new Map<Address, Timeline<number>>()
  readonly #waiting = new Map<Hex, TransactionDraft>()

  constructor(options: MempoolOptions) {
    this.#options = options
    options.ledger.onReorg.push((fork) => {
      for (const line of this.#nonces.values()) line.cut(fork)
    })
  }

  nonceOf(address: Address, block = this.#options.ledger.block): number {
    return this.#nonces.get(address)?.at(block) ?? 0
  }

  /** Takes raw bytes that offer enough for gas; returns their hash, or the node's reason for refusing them. */
  accept(raw: Hex, leastFeePerGas: bigint): { ok: true; hash: Hex } | { ok: false; why: string } {
    const { ledger, clock, random, loses, delayBlocksMax } = this.#options
    const draft = decodeTransaction(raw)
    if (draft === undefined) return { ok: false, why: 'malformed' }
    const hash = fingerprint(raw)
    if (draft.nonce < this.nonceOf(draft.from)) return { ok: false, why: 'nonce too low' }
    if (draft.gas < intrinsicGas(draft.data)) return { ok: false, why: 'intrinsic gas too low' }
    if (draft.maxFeePerGas < leastFeePerGas) return { ok: false, why: 'underpriced' }
    if (this.#waiting.has(hash) || random.chance(loses())) return { ok: true, hash }
    this.#waiting.set(hash, draft)
    const blocks = random.between(1, delayBlocksMax())
    clock.schedule(ledger.nextBlockMs() + (blocks - 1) * 2_000, () => this.#mine(hash, draft))
    return { ok: true, hash }
  }

  /** Revert reason of a call now; undefined if it would succeed. */
  revertReason(call: { from: Address; to: Address; data: Hex; value: bigint }): string | undefined {
    if (!call.data.startsWith(WITHDRAW)) return undefined
    const balance = this.#options.ledger.balance(call.to, call.from)
    return balance < argument(call.data, 0) ? 'withdraw exceeds balance' : undefined
  }

  /** Uses up an account's next nonce, as a second wallet program with the same key would. */
  useNonce(address: Address): void {
    const line = this.#nonces.get(address) ?? new Timeline<number>()
    this.#nonces.set(address, line)
    line.set(this.#options.ledger.block, this.nonceOf(address) + 1)
  }

  #mine(hash: Hex, draft: TransactionDraft): void {
    const { ledger } = this.#options
    this.#waiting.delete(hash)
    const { from, nonce, value, maxFeePerGas, data } = draft
    if (nonce !== this.nonceOf(from)) return
    const fee = GAS_USED * maxFeePerGas
    if (ledger.balance('native', from) < value + fee) return
    this.useNonce(from)
    ledger.move({ asset: 'native', from, to: POOL, amount: fee })
    const again = (): void => this.#mine(hash, draft)
    // With too little gas it is mined without effect.
    const call = () => (draft.gas < GAS_USED ? undefined : this.#run(draft))
    ledger.mine({ hash, input: data, call, again, fee })
  }

  #run(draft: TransactionDraft): readonly Omit<Transfer, 'logIndex'>[] | undefined {
    const { ledger } = this.#options
    const { from, to, data, value } = draft
    if (data === '0x') return []
    if (data.startsWith(APPROVE)) {
      ledger.setAllowance(to, from, argument(data, 1))
      return []
    }
    if (data.startsWith(DEPOSIT)) {
      ledger.move({ asset: 'native', from, to: POOL, amount: value })
      ledger.move({ asset: to, from: POOL, to: from, amount: value })
      return []
    }
    const amount = argument(data, 0)
    if (!data.startsWith(WITHDRAW) || !ledger.move({ asset: to, from, to: POOL, amount }))
      return undefined
    ledger.move({ asset: 'native', from: POOL, to: from, amount })
    return []
  }
}

/** Whether a transaction only unwraps WETH into ETH. */
export function isUnwrapping({ data }: TransactionDraft): boolean {
  return data.startsWith(WITHDRAW)
}

function argument(data: Hex, index: number): bigint {
  const start = 10 + index * 64
  return BigInt(`0x${data.slice(start, start + 64)}`)
}

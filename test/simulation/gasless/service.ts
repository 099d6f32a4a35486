import type { Address, Hex, Ratio } from '../../../src/domain/money/units.ts'
import type { Permit } from '../../../src/domain/order/permit.ts'
import type { Quote, QuoteRequest, Reply, ServiceOrder } from '../../../src/domain/order/quote.ts'
import { lessBps } from '../../../src/domain/policy.ts'
import type { SeededRandom } from '../../../src/domain/random.ts'
import { fingerprint, randomHex } from '../../support/random-hex.ts'
import type { Ledger, SettlementItem } from '../chain/ledger.ts'
import { simulatedSignature } from '../signer.ts'
import type { VirtualClock } from '../virtual-clock.ts'
import { type ServiceFaults, SILENCES, type Silence } from './faults.ts'
import { makeOffer, type Offer } from './offer.ts'
import { RateLimits } from './rate-limits.ts'

const FILL_MS_MIN = 2_000
const FILL_MS_MAX = 12_000

type Plan = 'fill' | 'fill-late' | 'never' | 'steal'
type Lie = 'none' | 'failed' | 'foreign-hash' | 'filled'

type TakenOrder = {
  readonly order: { readonly orderId: string; readonly quoteId: string }
  readonly offer: Offer
  readonly plan: Plan
  readonly lie: Lie
  /** How it answers polls of this order, if it does not answer normally. */
  readonly silence: Silence | undefined
  status: ServiceOrder['status']
  txHash: Hex | undefined
}

export type ServiceOptions = {
  readonly ledger: Ledger
  readonly clock: VirtualClock
  readonly random: SeededRandom
  readonly faults: ServiceFaults
  readonly chainId: number
  readonly permit2: Address
  readonly spender: Address
  /** The market's price in sell base units per buy base unit; undefined for tokens without a market. */
  readonly priceOf: (sell: Address, buy: Address) => Ratio | undefined
  readonly hashPermit: (permit: Permit) => Hex
}

/** The service itself: its quotes and orders, and settlement on the chain. Outlives every client. */
export class SimulatedService {
  readonly limits: RateLimits
  readonly #options: ServiceOptions
  readonly #offers = new Map<string, Offer>()
  readonly #orders = new Map<string, TakenOrder>()
  readonly #idempotent = new Map<string, string>()
  readonly #batches = new Map<number, TakenOrder[]>()

  constructor(options: ServiceOptions) {
    this.#options = options
    this.limits = new RateLimits(options.clock)
  }

  get nowMs(): number {
    return this.#options.clock.trueMs + this.#options.faults.skewMs
  }

  quote(request: QuoteRequest): Reply<Quote> {
    const { priceOf, random, chainId, permit2, spender, faults } = this.#options
    const price = priceOf(request.sellToken, request.buyToken)
    if (price === undefined) return badRequest('unsupported token')
    const id = `quote-${this.#offers.size + 1}`
    const offer = makeOffer({
      request,
      id,
      price,
      nonce: BigInt(randomHex(random, 31)),
      chainId,
      permit2,
      spender,
      nowMs: this.nowMs,
      lifetimeMs: faults.quoteLifetimeMs,
    })
    this.#offers.set(id, offer)
    return { ok: true, value: faults.tamper?.(offer.quote) ?? offer.quote }
  }

  submit(sent: { quoteId: string; signature: Hex; clientOrderId: string }): Reply<ServiceOrder> {
    const { faults, random, hashPermit } = this.#options
    const offer = this.#offers.get(sent.quoteId)
    if (offer === undefined) return badRequest('unknown quote')
    const { permit } = offer
    const key = `${permit.owner} ${sent.clientOrderId}`
    const known = this.#idempotent.get(key)
    if (known !== undefined) return this.order(known)
    if (sent.signature !== simulatedSignature(permit.owner, hashPermit(permit)))
      return badRequest('invalid signature')
    if (offer.quote.expirationMs <= this.nowMs) return badRequest('the quote expired')
    if (random.chance(faults.rejects)) return badRequest('rejected')
    const taken = this.#take(offer)
    this.#idempotent.set(key, taken.order.orderId)
    if (random.chance(faults.rejectsButTakes)) return badRequest('rejected')
    return this.order(taken.order.orderId)
  }

  order(orderId: string): Reply<ServiceOrder> {
    const taken = this.#orders.get(orderId)
    if (taken === undefined)
      return { ok: false, fault: { tag: 'notFound', message: 'unknown order' } }
    const reported = this.#reported(taken)
    const error = reported.status === 'failed' ? { code: 'X', message: 'failed' } : undefined
    return { ok: true, value: { ...taken.order, ...reported, error } }
  }

  /** How it answers polls of an order that it never reports on; undefined for normal answers. */
  silenceOn(orderId: string): Silence | undefined {
    return this.#orders.get(orderId)?.silence
  }

  #reported(taken: TakenOrder): Pick<ServiceOrder, 'status' | 'txHash'> {
    const { status, txHash } = taken
    switch (taken.lie) {
      case 'none':
        return { status, txHash }
      case 'failed':
        return { status: 'failed', txHash: undefined }
      case 'foreign-hash':
        return { status: 'filled', txHash: this.#foreignHash(taken) }
      case 'filled':
        return { status: 'filled', txHash: fingerprint(taken.order.orderId) }
    }
  }

  /** The most misleading transaction: another order's settlement if there is one. */
  #foreignHash(taken: TakenOrder): Hex {
    const { transactions } = this.#options.ledger
    const other = transactions.findLast(
      ({ settled }) =>
        settled.length > 0 && settled.every(({ permit }) => permit !== taken.offer.permit),
    )
    return (other ?? transactions.at(-1))?.hash ?? fingerprint('nowhere')
  }

  #take(offer: Offer): TakenOrder {
    const { clock, random, faults } = this.#options
    const orderId = `order-${this.#orders.size + 1}`
    const lie = this.#chooseLie()
    const taken: TakenOrder = {
      order: { orderId, quoteId: offer.quote.id },
      offer,
      plan: lie === 'filled' ? 'never' : this.#choosePlan(),
      lie,
      silence: this.#chooseSilence(),
      status: 'pending',
      txHash: undefined,
    }
    this.#orders.set(orderId, taken)
    const deadlineMs = offer.permit.deadlineSeconds * 1000
    clock.schedule(deadlineMs + 1, () => expire(taken))
    const soon = clock.trueMs + random.between(FILL_MS_MIN, FILL_MS_MAX)
    if (taken.plan === 'never') return taken
    const atMs = taken.plan === 'fill-late' ? deadlineMs - random.between(500, 4_000) : soon
    if (faults.batchMs === undefined) clock.schedule(atMs, () => this.#settle([taken]))
    else this.#enqueue(taken, Math.ceil(atMs / faults.batchMs) * faults.batchMs)
    return taken
  }

  #choosePlan(): Plan {
    const { random, faults } = this.#options
    if (random.chance(faults.neverFills)) return 'never'
    if (random.chance(faults.steals)) return 'steal'
    return random.chance(faults.fillsLate) ? 'fill-late' : 'fill'
  }

  #chooseLie(): Lie {
    const { random, faults } = this.#options
    if (random.chance(faults.saysFailedButFills)) return 'failed'
    if (random.chance(faults.namesForeignHash)) return 'foreign-hash'
    return random.chance(faults.saysFilledButDoesNot) ? 'filled' : 'none'
  }

  #chooseSilence(): Silence | undefined {
    const { random, faults } = this.#options
    if (!random.chance(faults.silent)) return undefined
    return faults.silence ?? SILENCES[random.between(0, SILENCES.length - 1)]
  }

  #enqueue(taken: TakenOrder, atMs: number): void {
    const batch = this.#batches.get(atMs)
    if (batch !== undefined) {
      batch.push(taken)
      return
    }
    this.#batches.set(atMs, [taken])
    this.#options.clock.schedule(atMs, () => {
      this.#settle(this.#batches.get(atMs) ?? [])
      this.#batches.delete(atMs)
    })
  }

  #settle(batch: readonly TakenOrder[]): void {
    const { ledger, faults } = this.#options
    const { zeroTransfers: zeroes, hidesAmounts } = faults
    const mined = ledger.settle(batch.map(executed), { zeroes, hidesAmounts })
    if (mined.success) {
      for (const taken of batch) Object.assign(taken, { status: 'filled', txHash: mined.hash })
      return
    }
    if (batch.length > 1) for (const taken of batch) this.#settle([taken])
    else for (const taken of batch) taken.status = 'failed'
  }
}

function expire(taken: TakenOrder): void {
  if (taken.status === 'pending') taken.status = 'expired'
}

/** Real movement: exact input in full; exact output slightly less than the maximum payment. */
function executed({ offer, plan }: TakenOrder): SettlementItem {
  const { permit, quote } = offer
  if (plan === 'steal') return { permit, paid: permit.amount, received: 1n }
  const paid = quote.side === 'sell' ? permit.amount : lessBps(permit.amount, 20)
  return { permit, paid, received: quote.buyAmount }
}

function badRequest(message: string): { ok: false; fault: { tag: 'badRequest'; message: string } } {
  return { ok: false, fault: { tag: 'badRequest', message } }
}

import {
  type Address,
  type BaseUnits,
  BPS,
  baseUnits,
  mulDivDown,
  mulDivUp,
  type Ratio,
} from '../../../src/domain/money/units.ts'
import {
  PERMIT_DOMAIN_NAME,
  PERMIT_PRIMARY_TYPE,
  PERMIT_TYPES,
  type Permit,
  WITNESS_TYPE_STRING,
} from '../../../src/domain/order/permit.ts'
import type { Quote, QuoteRequest } from '../../../src/domain/order/quote.ts'
import { lessBps } from '../../../src/domain/policy.ts'

/** The service's fee on top of the market's price. */
const SPREAD_BPS = 10

/** A quote and the permit in its typed data. */
export type Offer = { readonly quote: Quote; readonly permit: Permit }

export type OfferInput = {
  readonly request: QuoteRequest
  readonly id: string
  /** The market's price, sell base units per buy base unit. */
  readonly price: Ratio
  readonly nonce: bigint
  readonly chainId: number
  readonly permit2: Address
  readonly spender: Address
  readonly nowMs: number
  readonly lifetimeMs: number
}

/** An honest service's quote for a request. */
export function makeOffer(input: OfferInput): Offer {
  const { request, id, nonce, chainId, permit2, spender } = input
  const { from, receiver, sellToken, buyToken, size } = request
  const amounts = amountsOf(request, input.price)
  const validToSeconds = Math.floor((input.nowMs + input.lifetimeMs) / 1000)
  const permit: Permit = {
    chainId,
    permit2,
    owner: from,
    token: sellToken,
    amount: amounts.sellAmount,
    spender,
    nonce,
    deadlineSeconds: validToSeconds,
    recipient: receiver,
    tokenOut: buyToken,
    minAmountOut: amounts.minBuyAmount,
  }
  const quote: Quote = {
    id,
    from,
    expirationMs: input.nowMs + input.lifetimeMs,
    sellToken,
    buyToken,
    receiver,
    ...amounts,
    validToSeconds,
    feeAmount: baseUnits(0n),
    side: size.side,
    allowanceTarget: permit2,
    spender,
    typedData: typedDataOf(permit),
    witnessTypeString: WITNESS_TYPE_STRING,
  }
  return { quote, permit }
}

type Amounts = {
  readonly sellAmount: BaseUnits
  readonly buyAmount: BaseUnits
  readonly minBuyAmount: BaseUnits
}

function amountsOf({ size, slippageBps }: QuoteRequest, price: Ratio): Amounts {
  if (size.side === 'sell') {
    const buyAmount = lessBps(mulDivDown(size.amount, price.den, price.num), SPREAD_BPS)
    const minBuyAmount = baseUnits(lessBps(buyAmount, slippageBps))
    return { sellAmount: size.amount, buyAmount: baseUnits(buyAmount), minBuyAmount }
  }
  const fair = mulDivUp(size.amount, price.num, price.den)
  const most = mulDivUp(fair, BPS + BigInt(SPREAD_BPS + slippageBps), BPS)
  return { sellAmount: baseUnits(most), buyAmount: size.amount, minBuyAmount: size.amount }
}

/** Typed data in its JSON form: integers as decimal text, the chain id as a number. */
export function typedDataOf(permit: Permit): Readonly<Record<string, unknown>> {
  return {
    types: PERMIT_TYPES,
    primaryType: PERMIT_PRIMARY_TYPE,
    domain: {
      name: PERMIT_DOMAIN_NAME,
      chainId: permit.chainId,
      verifyingContract: permit.permit2,
    },
    message: {
      permitted: { token: permit.token, amount: permit.amount.toString() },
      spender: permit.spender,
      nonce: permit.nonce.toString(),
      deadline: permit.deadlineSeconds.toString(),
      witness: {
        recipient: permit.recipient,
        tokenOut: permit.tokenOut,
        minAmountOut: permit.minAmountOut.toString(),
      },
    },
  }
}

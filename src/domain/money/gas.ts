import { amountText } from './amount-text.ts'
import { ETHER } from './token.ts'
import { type Hex, maxOf, minOf } from './units.ts'

/**
 * What a chain's fees may cost the wallet (rule T12). The operator bounds its own transactions; a node only suggests. Wei.
 */
export type GasLimits = {
  readonly maxFeePerGas: bigint
  readonly maxPriorityFeePerGas: bigint
  /** Gas times the highest fee of one transaction. */
  readonly perTransaction: bigint
  /** The same over any 24 hours, all wallets of the chain together. */
  readonly perDay: bigint
}

const GWEI = 10n ** 9n
const ETHER_WEI = 10n ** 18n

/**
 * Limits where the operator names none: many times what the chain usually asks for, and little beside what a wallet that trades
 * holds. A rollup is not a chain that anybody would call dear.
 */
export function defaultGasLimits(chainId: number): GasLimits {
  return chainId in ROLLUPS ? ROLLUP_LIMITS : LIMITS
}

/** Base, and its test network. */
const ROLLUPS: Readonly<Record<number, true>> = { 8453: true, 84532: true }

const ROLLUP_LIMITS: GasLimits = {
  maxFeePerGas: 20n * GWEI,
  maxPriorityFeePerGas: 5n * GWEI,
  perTransaction: ETHER_WEI / 500n,
  perDay: ETHER_WEI / 100n,
}

const LIMITS: GasLimits = {
  maxFeePerGas: 300n * GWEI,
  maxPriorityFeePerGas: 20n * GWEI,
  perTransaction: ETHER_WEI / 20n,
  perDay: ETHER_WEI / 5n,
}

/** What a transaction offers for gas. */
export type GasOffer = {
  readonly gas: bigint
  readonly maxFeePerGas: bigint
  readonly maxPriorityFeePerGas: bigint
}

/** 0.001 gwei, what the cheapest chains take for a tip. */
export const PRIORITY_FEE_LEAST = 1_000_000n

/** Most gas that a transaction may have on any chain (EIP-7825). */
export const TRANSACTION_GAS_MAX = 2n ** 24n

/** What a transaction pays before anything else. */
export const TRANSACTION_GAS = 21_000n
/** The least that a token of calldata costs in the end (EIP-7623); EIP-2028 asks for four of it beforehand. */
export const FLOOR_GAS_PER_TOKEN = 10n

/** Tokens of calldata, as EIP-7623 counts them. */
export function calldataTokens(data: Hex): bigint {
  let tokens = 0n
  for (let at = 2; at < data.length; at += 2) tokens += data.startsWith('00', at) ? 1n : 4n
  return tokens
}

/** Least gas limit with which a block takes a transaction (EIP-7623). */
export function intrinsicGas(data: Hex): bigint {
  return TRANSACTION_GAS + calldataTokens(data) * FLOOR_GAS_PER_TOKEN
}

/** Most that a transaction may cost for gas, in wei. */
export function gasCost({ gas, maxFeePerGas }: GasOffer): bigint {
  return gas * maxFeePerGas
}

/**
 * What a node says that a transaction cost, as far as it can be: its offer, and beside that what a rollup asks for its data, which is
 * taken to be no more than the limit of one transaction. Else nobody knows what it cost.
 */
export function credibleFee(
  fee: bigint | undefined,
  offer: GasOffer,
  { perTransaction }: Pick<GasLimits, 'perTransaction'>,
): bigint | undefined {
  return fee !== undefined && fee <= gasCost(offer) + perTransaction ? fee : undefined
}

/** Why no block takes a transaction with so much gas; undefined where one does. */
export function unfitGas(data: Hex, gas: bigint): string | undefined {
  const least = intrinsicGas(data)
  if (gas >= least && gas <= TRANSACTION_GAS_MAX) return undefined
  return `no block takes gas of ${gas} for it: it has to be from ${least} to ${TRANSACTION_GAS_MAX}`
}

/** Why limits do not allow an offer; undefined where they do. `usedToday` counts beside it, in wei. */
export function gasRefusal(
  limits: GasLimits,
  offer: GasOffer,
  usedToday: bigint,
): string | undefined {
  const cost = gasCost(offer)
  if (offer.maxFeePerGas > limits.maxFeePerGas)
    return over('maxFeePerGas', gweiText(offer.maxFeePerGas), gweiText(limits.maxFeePerGas))
  if (offer.maxPriorityFeePerGas > limits.maxPriorityFeePerGas) {
    const [asked, most] = [offer.maxPriorityFeePerGas, limits.maxPriorityFeePerGas].map(gweiText)
    return over('maxPriorityFeePerGas', asked, most)
  }
  if (cost > limits.perTransaction)
    return over('perTransaction', inEther(cost), inEther(limits.perTransaction))
  if (usedToday + cost > limits.perDay) {
    const asked = `${inEther(cost)} beside ${inEther(usedToday)} of the last 24 hours`
    return over('perDay', asked, inEther(limits.perDay))
  }
  return undefined
}

/**
 * The dearest offer up to `asked` that limits allow, or why none of them gets into a block at `baseFeePerGas`. A fee cap has room
 * for the base fee to double, so that a lower one still serves.
 */
export function withinGasLimits(
  limits: GasLimits,
  asked: GasOffer & { readonly baseFeePerGas: bigint },
  usedToday: bigint,
): { readonly ok: true; readonly offer: GasOffer } | { readonly ok: false; readonly why: string } {
  const { gas, baseFeePerGas } = asked
  const left = minOf(limits.perTransaction, maxOf(0n, limits.perDay - usedToday))
  const maxFeePerGas = minOf(asked.maxFeePerGas, minOf(limits.maxFeePerGas, left / gas))
  const tip = minOf(asked.maxPriorityFeePerGas, limits.maxPriorityFeePerGas)
  const offer = { gas, maxFeePerGas, maxPriorityFeePerGas: minOf(tip, maxFeePerGas) }
  const isEnough = maxFeePerGas > baseFeePerGas || maxFeePerGas === asked.maxFeePerGas
  const least = { ...offer, maxFeePerGas: baseFeePerGas + 1n, maxPriorityFeePerGas: 0n }
  const why = gasRefusal(limits, isEnough ? offer : least, usedToday)
  return why === undefined ? { ok: true, offer } : { ok: false, why }
}

function inEther(wei: bigint): string {
  return amountText(wei, ETHER)
}

function over(key: keyof GasLimits, asked = '', most = ''): string {
  return `gas would cost ${asked}; chains.*.gas.${key} allows ${most}`
}

/** Wei per gas as gwei, with as many decimal places as it takes. */
export function gweiText(wei: bigint): string {
  const fraction = (wei % GWEI).toString().padStart(9, '0').replace(/0+$/, '')
  return `${wei / GWEI}${fraction === '' ? '' : `.${fraction}`} gwei`
}

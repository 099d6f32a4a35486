import { amountText } from './amount-text.ts'
import { ETHER } from './token.ts'
import { formatAmount, type Hex, maxOf, minOf } from './units.ts'

/** Limits in wei on a chain's fees (rule T12). The operator bounds wallet transactions; a node only suggests fees. */
export type GasLimits = {
  readonly maxFeePerGas: bigint
  readonly maxPriorityFeePerGas: bigint
  /** Gas times the highest fee of one transaction. */
  readonly perTransaction: bigint
  /** The same over any 24 hours, for all wallets of the chain together. */
  readonly perDay: bigint
}

const GWEI = 10n ** 9n
const ETHER_WEI = 10n ** 18n

/** Default limits: many times the chain's usual fees, and small against a trading wallet's balance. */
export function defaultGasLimits(chainId: number): GasLimits {
  return ROLLUPS.includes(chainId) ? ROLLUP_LIMITS : LIMITS
}

const ROLLUPS: readonly number[] = [8453, 84532]

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

export type GasOffer = {
  readonly gas: bigint
  readonly maxFeePerGas: bigint
  readonly maxPriorityFeePerGas: bigint
}

/** 0.001 gwei, the lowest usual tip. */
export const PRIORITY_FEE_LEAST = 1_000_000n

/** Maximum gas of a transaction (EIP-7825). */
export const TRANSACTION_GAS_MAX = 2n ** 24n

export const TRANSACTION_GAS = 21_000n
/** Floor price of a calldata token (EIP-7623); the intrinsic price is four (EIP-2028). */
export const FLOOR_GAS_PER_TOKEN = 10n

export function calldataTokens(data: Hex): bigint {
  let tokens = 0n
  for (let at = 2; at < data.length; at += 2) tokens += data.startsWith('00', at) ? 1n : 4n
  return tokens
}

/** Minimum gas limit of a valid transaction (EIP-7623). */
export function intrinsicGas(data: Hex): bigint {
  return TRANSACTION_GAS + calldataTokens(data) * FLOOR_GAS_PER_TOKEN
}

export function gasCost({ gas, maxFeePerGas }: GasOffer): bigint {
  return gas * maxFeePerGas
}

/** A node's reported cost, unless it exceeds the transaction's offer plus a rollup's data fee of one transaction limit. */
export function credibleFee(
  fee: bigint | undefined,
  offer: GasOffer,
  { perTransaction }: Pick<GasLimits, 'perTransaction'>,
): bigint | undefined {
  return fee !== undefined && fee <= gasCost(offer) + perTransaction ? fee : undefined
}

/** Why no block includes a transaction with this gas limit; undefined if it is valid. */
export function unfitGas(data: Hex, gas: bigint): string | undefined {
  const least = intrinsicGas(data)
  if (gas >= least && gas <= TRANSACTION_GAS_MAX) return undefined
  return `no block accepts a gas limit of ${gas} for it: it must be from ${least} to ${TRANSACTION_GAS_MAX}`
}

/** Why the limits reject an offer; undefined if they allow it. `usedToday` is in wei. */
export function gasRefusal(
  limits: GasLimits,
  offer: GasOffer,
  usedToday: bigint,
): string | undefined {
  const cost = gasCost(offer)
  for (const key of ['maxFeePerGas', 'maxPriorityFeePerGas'] as const)
    if (offer[key] > limits[key]) return over(key, gweiText(offer[key]), gweiText(limits[key]))
  if (cost > limits.perTransaction)
    return over('perTransaction', inEther(cost), inEther(limits.perTransaction))
  if (usedToday + cost > limits.perDay) {
    const wanted = `${inEther(cost)} beside ${inEther(usedToday)} of the last 24 hours`
    return over('perDay', wanted, inEther(limits.perDay))
  }
  return undefined
}

/** The highest offer within the limits, or why none can be mined. A fee cap has room for the base fee to double. */
export function withinGasLimits(
  limits: GasLimits,
  wanted: GasOffer & { readonly baseFeePerGas: bigint },
  usedToday: bigint,
): { readonly ok: true; readonly offer: GasOffer } | { readonly ok: false; readonly why: string } {
  const { gas, baseFeePerGas } = wanted
  const left = minOf(limits.perTransaction, maxOf(0n, limits.perDay - usedToday))
  const maxFeePerGas = minOf(wanted.maxFeePerGas, minOf(limits.maxFeePerGas, left / gas))
  const tip = minOf(wanted.maxPriorityFeePerGas, limits.maxPriorityFeePerGas)
  const offer = { gas, maxFeePerGas, maxPriorityFeePerGas: minOf(tip, maxFeePerGas) }
  const isEnough = maxFeePerGas > baseFeePerGas || maxFeePerGas === wanted.maxFeePerGas
  const least = { ...offer, maxFeePerGas: baseFeePerGas + 1n, maxPriorityFeePerGas: 0n }
  const why = gasRefusal(limits, isEnough ? offer : least, usedToday)
  return why === undefined ? { ok: true, offer } : { ok: false, why }
}

function inEther(wei: bigint): string {
  return amountText(wei, ETHER)
}

function over(key: keyof GasLimits, wanted: string, most: string): string {
  return `gas would cost ${wanted}; chains.*.gas.${key} allows ${most}`
}

export function gweiText(wei: bigint): string {
  return `${formatAmount(wei, 9)} gwei`
}

import type { Address, Hex } from '../money/units.ts'
import {
  type AggregatorSettings,
  type ChainSettings,
  hasSwaps,
  type Settings,
} from '../settings.ts'

/** Code at an address. Hashes are keccak256 of runtime code. */
export type ContractCode = {
  readonly hash: Hex
  /** Target of a proxy (EIP-1967, direct or by beacon, or the older ZeppelinOS slot); undefined for other code. */
  readonly implementation?: Address | undefined
  readonly implementationHash?: Hex | undefined
}

/** keccak256 of empty code: there is no contract. */
export const NO_CODE: Hex = '0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470'

/** A config contract that signatures depend on. `name` is its config key, e.g. `tokens.USDC`. */
export type TrustedContract = {
  readonly chainId: number
  readonly address: Address
  readonly name: string
}

type ContractPlace = Pick<TrustedContract, 'chainId' | 'address'>

export function contractKey({ chainId, address }: ContractPlace): string {
  return `${chainId}:${address}`
}

export function isSameCode(a: ContractCode, b: ContractCode): boolean {
  return codeText(a) === codeText(b)
}

/** For messages; equal for equal code. */
export function codeText({ hash, implementation, implementationHash }: ContractCode): string {
  const own = hash === NO_CODE ? 'no code' : `code ${hash}`
  if (implementation === undefined) return own
  const behind = implementationHash === NO_CODE ? 'no code' : implementationHash
  return `${own}, implementation ${implementation} with ${behind}`
}

/** The nodes' answers about a contract: each distinct one, and the one that a quorum gives. */
export type CodeAnswers = {
  readonly said: readonly ContractCode[]
  readonly agreed: ContractCode | undefined
}

export function codeAnswers(answers: readonly ContractCode[], agree: number): CodeAnswers {
  const votes = new Map<string, ContractCode[]>()
  for (const code of answers) {
    const key = codeText(code)
    votes.set(key, [...(votes.get(key) ?? []), code])
  }
  const all = [...votes.values()]
  return {
    said: all.flatMap(([code]) => code ?? []),
    agreed: all.find((same) => same.length >= agree)?.[0],
  }
}

/** Hash of the executed code, for comparison with a config pin. */
export function workingHash({ hash, implementationHash }: ContractCode): Hex {
  return implementationHash ?? hash
}

/** A temporary conflict: the chain is silent, or differs from the record without a final block that confirms it. */
export type CodeConflict = {
  readonly reason: 'chain-unavailable' | 'code-unconfirmed'
  readonly detail: string
}

export type TrustedCode = {
  readonly contracts: readonly TrustedContract[]
  /** Hashes that the config requires, by chain and address. */
  readonly pins: ReadonlyMap<string, Hex>
  /** Why a contract must not be signed with for now. Only a running daemon detects conflicts; commands use the record. */
  conflict: (chainId: number, address: Address) => CodeConflict | undefined
}

/** Every contract that a signature may depend on, each once. */
export function trustedContracts({
  chains,
  gasless,
  aggregator,
  tokens,
  prices,
}: Pick<Settings, 'gasless' | 'aggregator' | 'tokens' | 'prices'> & {
  readonly chains: ReadonlyMap<string, Pick<ChainSettings, 'chainId'>>
}): readonly TrustedContract[] {
  const found = new Map<string, TrustedContract>()
  const add = (chain: string, name: string, address: Address | undefined): void => {
    const chainId = chains.get(chain)?.chainId
    if (chainId === undefined || address === undefined) return
    const key = contractKey({ chainId, address })
    if (!found.has(key)) found.set(key, { chainId, address, name })
  }
  const { chain } = gasless
  if (hasSwaps({ gasless })) add(chain, 'gasless.permit2', gasless.permit2)
  for (const [n, spender] of gasless.spenders.entries())
    add(chain, `gasless.spenders.${n}`, spender)
  for (const token of tokens.values())
    if (token.chain === chain) add(chain, `tokens.${token.symbol}`, token.address)
  for (const { pair, feed, sequencerFeed } of prices.values()) {
    add(chain, `prices.${pair}.feed`, feed)
    add(chain, `prices.${pair}.sequencerFeed`, sequencerFeed)
  }
  if (aggregator === undefined) return [...found.values()]
  const { gasTank, multicall } = aggregator.contracts
  add(aggregator.chain, 'aggregator.contracts.gasTank', gasTank)
  add(aggregator.chain, 'aggregator.contracts.multicall', multicall)
  const proposer = `aggregator.contracts.${aggregator.proposer}Proposer`
  add(aggregator.chain, proposer, proposerOf(aggregator))
  for (const [name, target] of aggregator.targets)
    add(aggregator.chain, `aggregator.targets.${name}`, target)
  return [...found.values()]
}

/** The delegate code of the aggregation account. */
export function proposerOf({
  proposer,
  contracts,
}: Pick<AggregatorSettings, 'proposer' | 'contracts'>): Address {
  return proposer === 'trustless' ? contracts.trustlessProposer : contracts.trustedProposer
}

export function trustedCode(settings: Settings): TrustedCode {
  const pins = [...settings.chains.values()].flatMap(({ chainId, code }) =>
    [...code].map(([address, hash]) => [contractKey({ chainId, address }), hash] as const),
  )
  return {
    contracts: trustedContracts(settings),
    pins: new Map(pins),
    conflict: () => undefined,
  }
}

export function pinText(name: string, pin: Hex, hash: Hex): string {
  return `${name} has code ${hash}, and chains.*.code of the config pins ${pin}`
}

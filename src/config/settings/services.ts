import { resolve } from 'node:path'
import { GASLESS_CHAIN_ID } from '../../domain/money/token.ts'
import { ZERO_ADDRESS } from '../../domain/money/units.ts'
import {
  type GaslessSettings,
  hasSwaps,
  type Settings,
  type WalletSource,
} from '../../domain/settings.ts'
import type { Fault } from '../yaml/document.ts'
import type { Faults } from './names.ts'
import type { SettingsInput, TradingInput } from './settings-schema.ts'

const AGGREGATOR_CHAIN_IDS = [1, 11_155_111]

/** Permits nothing: no spender, and no time in which a permit is valid. */
const NO_SWAPS = {
  baseUrl: undefined,
  permit2: ZERO_ADDRESS,
  spenders: [],
  slippageBps: 0,
  routingPreference: 'auto',
  approval: 'exact',
  maxQuoteLifetimeMs: 0,
  requestsPerSecond: 1,
  wire: { preferOwn: '', onlyOwn: '' },
} as const satisfies Partial<GaslessSettings>

type Report = (fault: Fault) => void

export function gaslessOf({ gasless, aggregator }: SettingsInput): GaslessSettings {
  if (gasless === undefined)
    return { ...NO_SWAPS, chain: aggregator?.chain ?? '', wallet: aggregator?.wallet ?? '' }
  const { maxQuoteLifetime: maxQuoteLifetimeMs, ...rest } = gasless
  return { ...rest, maxQuoteLifetimeMs }
}

function checkGasless(input: TradingInput, faults: Faults): void {
  const { chain, wallet } = input.gasless
  const walletPath = ['gasless', 'wallet']
  faults.lookUp(input.wallets, { kind: 'wallets', name: wallet, path: walletPath })
  const path = ['gasless', 'chain']
  const found = faults.lookUp(input.chains, { kind: 'chains', name: chain, path })
  if (found === undefined || found.chainId === GASLESS_CHAIN_ID) return
  const message = `this chain has id ${found.chainId}, and the gasless service settles on Base`
  faults.report({ path, message, expected: `a chain with id ${GASLESS_CHAIN_ID}` })
}

/** Tokens and feeds belong to swaps: a daemon that only makes calls could not explain what its calls pay in tokens. */
function checkCallsOnly({ aggregator, ...input }: TradingInput, report: Report): void {
  if (aggregator === undefined) {
    const message = 'this config names no service, so nothing could be traded'
    const expected =
      '`gasless` to swap on Base, `aggregator` to call contracts on Ethereum, or both'
    report({ path: ['gasless'], message, expected })
    return
  }
  for (const section of ['tokens', 'prices'] as const) {
    if (Object.keys(input[section]).length === 0) continue
    const message = 'only swaps use this, and the config has no `gasless`'
    report({
      path: [section],
      at: 'key',
      message,
      expected: 'a `gasless` section, or not this one',
    })
  }
}

/** Checks services and their wallets against each other. */
export function checkServices(input: TradingInput, faults: Faults): void {
  if (hasSwaps(input)) checkGasless(input, faults)
  else checkCallsOnly(input, faults.report)
  checkWallets(input, faults.report)
  checkAggregator(input, faults)
}

function checkWallets({ mode, wallets }: TradingInput, report: Report): void {
  for (const [name, { type }] of Object.entries(wallets)) {
    if (type !== 'address' || mode === 'dry-run') continue
    const message = 'this wallet has an address and no key'
    report({ path: ['wallets', name], message, expected: 'a key source, or `mode: dry-run`' })
  }
}

function checkAggregator(input: TradingInput, faults: Faults): void {
  if (input.aggregator === undefined) return
  const { report } = faults
  const { chain, wallet } = input.aggregator
  const walletPath = ['aggregator', 'wallet']
  faults.lookUp(input.wallets, { kind: 'wallets', name: wallet, path: walletPath })
  if (hasSwaps(input)) checkSeparate(input, wallet, report)
  const path = ['aggregator', 'chain']
  const found = faults.lookUp(input.chains, { kind: 'chains', name: chain, path })
  if (found === undefined || AGGREGATOR_CHAIN_IDS.includes(found.chainId)) return
  const message = `this chain has id ${found.chainId}, which the aggregator does not serve`
  report({ path, message, expected: `a chain with id ${AGGREGATOR_CHAIN_IDS.join(' or ')}` })
}

/** Each service needs a wallet of its own (rule A5). */
function checkSeparate({ gasless, wallets }: TradingInput, wallet: string, report: Report): void {
  if (wallet === gasless.wallet) {
    const message = 'this wallet trades through the gasless service already'
    const expected = 'a wallet of its own: code delegated to a wallet could empty it on Base'
    report({ path: ['aggregator', 'wallet'], message, expected })
  } else if (isSameKey(wallets[wallet], wallets[gasless.wallet])) {
    const message = 'this wallet has the same key as the trading wallet of the gasless service'
    const expected = 'a key of its own: code delegated to a wallet could empty it on Base'
    report({ path: ['wallets', wallet], message, expected })
  }
}

/** Compares only the sources in the config; the daemon also compares addresses. */
function isSameKey(one: WalletSource | undefined, other: WalletSource | undefined): boolean {
  if (one === undefined || other === undefined) return false
  const named = (source: WalletSource): string => {
    switch (source.type) {
      case 'keystore':
        return resolve(source.keystore)
      case 'privateKeyFile':
        return resolve(source.file)
      case 'privateKeyEnv':
        return source.name
      case 'address':
        return source.address
    }
  }
  return one.type === other.type && named(one) === named(other)
}

export function buildAggregator({ aggregator }: TradingInput): Settings['aggregator'] {
  if (aggregator === undefined) return undefined
  const { fallback, gasTank, targets, ...rest } = aggregator
  const { methods, alertBelow, topUp } = gasTank
  return {
    ...rest,
    targets: new Map(Object.entries(targets)),
    fallback: { mode: fallback.mode, deadlineMs: fallback.deadline },
    gasTank: {
      methods,
      alertBelowWei: alertBelow,
      topUp:
        topUp === undefined
          ? undefined
          : { belowWei: topUp.below, amountWei: topUp.amount, maxPerDayWei: topUp.maxPerDay },
    },
  }
}

import { dirname, resolve } from 'node:path'
import { defaultGasLimits, type GasLimits } from '../../domain/money/gas.ts'
import type { PriceFeed } from '../../domain/money/price.ts'
import { ETHER, NATIVE_TOKEN, type Pair, type Token } from '../../domain/money/token.ts'
import { type Address, type BaseUnits, type Hex, parseAmount } from '../../domain/money/units.ts'
import { contractKey, trustedContracts } from '../../domain/order/contract.ts'
import type { Settings, WalletSource } from '../../domain/settings.ts'
import { everyCap } from '../../domain/strategy.ts'
import type { Fault } from '../yaml/document.ts'
import type { Path } from '../yaml/problem.ts'
import { anchorsOf } from './anchors.ts'
import { checkChains } from './chains.ts'
import { Faults } from './names.ts'
import { conflictFaults, type NotifySettings } from './notify.ts'
import { buildAggregator, checkServices, gaslessOf } from './services.ts'
import type { SettingsInput, TradingInput } from './settings-schema.ts'

type Report = (fault: Fault) => void

/** A validated config file: settings for trading and notifications. */
export type ConfigSettings = Settings & { readonly notify: NotifySettings }

/**
 * Turns a well-formed config into settings: resolves paths against the file's directory, names against the sections that
 * define them, and decimal amounts into base units. The settings are valid only without faults.
 */
export function buildSettings(
  file: string,
  written: SettingsInput,
): { settings: ConfigSettings; faults: readonly Fault[] } {
  const faults = new Faults()
  const { report } = faults
  const absolute = (path: string) => resolve(dirname(file), path)
  const input = { ...written, gasless: gaslessOf(written) }
  checkChains(input, report)
  checkServices(input, faults)
  const tokens = buildTokens(input, faults)
  const { maxDeviationBps } = input.limits
  const stateDir = absolute(input.stateDir)
  const wallets = mapOf(input.wallets, (wallet) => withAbsolutePaths(wallet, absolute))
  const { archive, keepFiles } = input.journal
  const settings: ConfigSettings = {
    mode: input.mode,
    file: resolve(file),
    stateDir,
    journal: { archive: archive && absolute(archive), keepFiles },
    anchors: anchorsOf(input, { file: resolve(file), stateDir, wallets, absolute, report }),
    strategiesDir: absolute(input.strategiesDir),
    http: buildHttp(input, absolute),
    log: input.log,
    wallets,
    chains: mapOf(input.chains, (chain, name) => ({
      ...chain,
      name,
      explorer: chain.explorer,
      code: pinsOf(chain),
      gas: gasLimitsOf(chain),
    })),
    gasless: input.gasless,
    aggregator: buildAggregator(input),
    tokens,
    prices: buildPrices(input, tokens, faults),
    limits: {
      maxDeviationBps,
      ...everyCap((name) =>
        buildAmounts(input, {
          tokens,
          faults,
          amounts: input.limits[name],
          path: ['limits', name],
        }),
      ),
      cooldownMs: input.limits.cooldown,
      maxOpenIntents: input.limits.maxOpenIntents,
      maxFailures: input.limits.maxFailures,
    },
    paper: buildPaper(input, tokens, faults),
    control: { telegram: input.control.telegram },
    notify: input.notify,
  }
  checkPins(input, settings, report)
  for (const fault of conflictFaults(input.notify)) report(fault)
  return { settings, faults: faults.all() }
}

function mapOf<In, Out>(
  entries: Readonly<Record<string, In>>,
  build: (value: In, name: string) => Out,
): Map<string, Out> {
  return new Map(Object.entries(entries).map(([name, value]) => [name, build(value, name)]))
}

/** Limits missing in the file default to the chain's usual ones. */
function gasLimitsOf({ chainId, gas }: TradingInput['chains'][string]): GasLimits {
  const usual = defaultGasLimits(chainId)
  return {
    maxFeePerGas: gas.maxFeePerGas ?? usual.maxFeePerGas,
    maxPriorityFeePerGas: gas.maxPriorityFeePerGas ?? usual.maxPriorityFeePerGas,
    perTransaction: gas.perTransaction ?? usual.perTransaction,
    perDay: gas.perDay ?? usual.perDay,
  }
}

function pinsOf({ code }: TradingInput['chains'][string]): ReadonlyMap<Address, Hex> {
  return new Map(
    Object.entries(code).map(([address, hash]) => [address.toLowerCase() as Address, hash]),
  )
}

/** Reports pins of contracts that the config does not use: the address is probably mistyped. */
function checkPins(input: TradingInput, settings: Settings, report: Report): void {
  const keys = new Set(trustedContracts(settings).map(contractKey))
  for (const [name, { chainId, code }] of Object.entries(input.chains))
    for (const address of Object.keys(code))
      if (!keys.has(contractKey({ chainId, address: address.toLowerCase() as Address })))
        report({
          path: ['chains', name, 'code', address],
          at: 'key',
          message: 'no contract of this config has this address on this chain',
          expected: 'the address of a token, feed, spender, target or other contract of the config',
        })
}

function buildHttp(
  { http: { control, viewTokenFile, ...http } }: TradingInput,
  absolute: (path: string) => string,
): Settings['http'] {
  return {
    ...http,
    control: control && { tokenFile: absolute(control.tokenFile) },
    viewTokenFile: viewTokenFile && absolute(viewTokenFile),
  }
}

function withAbsolutePaths(wallet: WalletSource, absolute: (path: string) => string): WalletSource {
  switch (wallet.type) {
    case 'keystore': {
      const { keystore, passwordFile } = wallet
      return { ...wallet, keystore: absolute(keystore), passwordFile: absolute(passwordFile) }
    }
    case 'privateKeyFile':
      return { ...wallet, file: absolute(wallet.file) }
    case 'privateKeyEnv':
    case 'address':
      return wallet
  }
}

function buildTokens(input: TradingInput, faults: Faults): Map<string, Token> {
  const { report } = faults
  const tokens = new Map<string, Token>()
  const symbolAt = new Map<string, string>()
  for (const [symbol, { chain, address, decimals }] of Object.entries(input.tokens)) {
    const path = ['tokens', symbol]
    if (symbol === ETHER.symbol) {
      const message =
        'ETH is no token: in a strategy it means WETH, wrapped or unwrapped around the order'
      report({ path, at: 'key', message, expected: 'WETH', suggestion: 'WETH' })
    }
    const found = lookUpChain(input, { chain, path: [...path, 'chain'], faults })
    const twin = symbolAt.get(`${chain}:${address}`)
    if (twin !== undefined) {
      const message = `${twin} has this address already`
      report({ path: [...path, 'address'], message, expected: 'each token under one symbol' })
    }
    symbolAt.set(`${chain}:${address}`, symbol)
    tokens.set(symbol, { symbol, chain, chainId: found?.chainId ?? 0, address, decimals })
  }
  return tokens
}

/** Requires the trading chain, because one call reads all balances, allowances and feeds. */
function lookUpChain(
  { chains, gasless }: TradingInput,
  { chain, path, faults }: { chain: string; path: Path; faults: Faults },
): TradingInput['chains'][string] | undefined {
  const found = faults.lookUp(chains, { kind: 'chains', name: chain, path })
  if (found && chain !== gasless.chain && Object.hasOwn(chains, gasless.chain)) {
    const message = 'this is not the chain that trades'
    faults.report({ path, message, expected: `\`${gasless.chain}\`, as in gasless.chain` })
  }
  return found
}

function buildPrices(
  input: TradingInput,
  tokens: ReadonlyMap<string, Token>,
  faults: Faults,
): Map<Pair, PriceFeed> {
  const { report } = faults
  const prices = new Map<Pair, PriceFeed>()
  for (const [key, { feed, chain, maxAge, sequencerFeed }] of Object.entries(input.prices)) {
    const path = ['prices', key]
    const [baseName = '', quoteName = ''] = key.split('/')
    lookUpChain(input, { chain, path: [...path, 'chain'], faults })
    const side = { kind: 'tokens', path, at: 'key' } as const
    faults.lookUp(input.tokens, { ...side, name: baseName })
    faults.lookUp(input.tokens, { ...side, name: quoteName })
    if (baseName === quoteName || prices.has(`${quoteName}/${baseName}`)) {
      const message = 'this price is given already, or is always one'
      report({ path, at: 'key', message, expected: 'one feed for each pair of tokens' })
    }
    const base = tokens.get(baseName)
    const quote = tokens.get(quoteName)
    if (base === undefined || quote === undefined) continue
    const pair: Pair = `${baseName}/${quoteName}`
    const maxAgeSeconds = Math.floor(maxAge / 1_000)
    prices.set(pair, { pair, base, quote, feed, maxAgeSeconds, sequencerFeed })
  }
  return prices
}

/** Opening balances of a dry-run, in base units; ETH is the chain's native coin. */
function buildPaper(
  input: TradingInput,
  tokens: ReadonlyMap<string, Token>,
  faults: Faults,
): Settings['paper'] {
  if (input.paper === undefined) return undefined
  const { report } = faults
  if (input.mode !== 'dry-run') {
    const message = 'only a dry-run trades on paper'
    report({ path: ['paper'], at: 'key', message, expected: '`mode: dry-run`, or no `paper`' })
  }
  const { [ETHER.symbol]: ether, ...amounts } = input.paper
  const paper = new Map<Address, bigint>(
    buildAmounts(input, { tokens, faults, amounts, path: ['paper'] }),
  )
  const wei = ether === undefined ? 0n : parseAmount(ether, ETHER.decimals)
  if (wei === undefined) report(tooManyDecimals(['paper', ETHER.symbol], ETHER))
  else paper.set(NATIVE_TOKEN, wei)
  return paper
}

/** Amounts by token symbol, converted to base units by token address. */
function buildAmounts(
  input: TradingInput,
  on: {
    readonly tokens: ReadonlyMap<string, Token>
    readonly faults: Faults
    readonly amounts: Readonly<Record<string, string>>
    readonly path: Path
  },
): Map<Address, BaseUnits> {
  const { tokens, faults, amounts } = on
  const caps = new Map<Address, BaseUnits>()
  for (const [symbol, text] of Object.entries(amounts)) {
    const path = [...on.path, symbol]
    faults.lookUp(input.tokens, { kind: 'tokens', name: symbol, path, at: 'key' })
    const token = tokens.get(symbol)
    if (token === undefined) continue
    const amount = parseAmount(text, token.decimals)
    if (amount === undefined) faults.report(tooManyDecimals(path, token))
    else caps.set(token.address, amount)
  }
  return caps
}

/** Fault of an amount finer than the token's base unit. */
export function tooManyDecimals(path: Path, token: Token): Fault {
  const message = `this amount has more decimal places than ${token.symbol}`
  return { path, message, expected: `at most ${token.decimals} decimal places` }
}

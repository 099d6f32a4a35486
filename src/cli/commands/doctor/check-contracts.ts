import { BASE_GENESIS, BASE_SEQUENCER_FEED, BASE_TOKENS } from '../../../chain/base-contracts.ts'
import type { TokenInspection } from '../../../chain/inspection.ts'
import type { PriceFeed } from '../../../domain/money/price.ts'
import type { Token } from '../../../domain/money/token.ts'
import type { Address, Hex } from '../../../domain/money/units.ts'
import { type ChainSettings, hasSwaps, type Settings } from '../../../domain/settings.ts'
import type { Probes } from '../../compose/checkup.ts'
import { tokensOn } from '../../market.ts'
import {
  allFine,
  type Check,
  type Checks,
  fault,
  fine,
  inspectReply,
  isSilent,
  type Known,
  unknown,
  warning,
} from './check.ts'

type NamedAddress = { readonly path: string; readonly address: Address }

/** Multicall3, which carries all reads. No config names it. */
const READS_THROUGH: NamedAddress = {
  path: 'Multicall3, used for all reads',
  address: '0xca11bde05977b3631167028862be2a173976ca11',
}

export async function inspectContracts(
  { settings, genesisHash }: Known,
  chain: ChainSettings,
  probes: Pick<Probes, 'code' | 'tokens'>,
): Promise<Checks> {
  const { name } = chain
  if (isSilent(chain))
    return unknown('code', `${name}: its contracts were not checked: no node is usable`)
  const named = addressesOf(settings, name)
  const addresses = [...new Set(named.map(({ address }) => address))]
  const tokens = tokensOn(name, settings)
  const feeds = isBase(settings, chain, genesisHash) ? [...settings.prices.values()] : []
  const ofFeeds = feeds.flatMap(({ feed, sequencerFeed }) => [feed, sequencerFeed ?? []].flat())
  const described = [...new Set([...tokens.map(({ address }) => address), ...ofFeeds])]
  const [code, checks] = await Promise.all([
    inspectReply(
      'code',
      () => probes.code(chain, addresses),
      (codes) => checkCode(name, named, codes),
    ),
    described.length === 0
      ? []
      : inspectReply(
          'token-decimals',
          () => probes.tokens(chain, described),
          (seen) => [
            ...checkTokens(tokens, seen),
            ...(feeds.length === 0 ? [] : checkKnownTokens(tokens)),
            ...checkFeedNames(feeds, seen),
          ],
        ),
  ])
  return [...code, ...checks]
}

/** False for a local chain that only has Base's id. */
function isBase(
  { mode, gasless }: Settings,
  { name, chainId }: ChainSettings,
  genesisHash: Hex = BASE_GENESIS,
): boolean {
  const is8453 = name === gasless.chain && chainId === 8453
  return is8453 && mode !== 'sandbox' && genesisHash === BASE_GENESIS
}

/** All addresses on a chain that must be contracts. */
function addressesOf(settings: Settings, chain: string): readonly NamedAddress[] {
  const { gasless, aggregator, prices } = settings
  const found: NamedAddress[] = [READS_THROUGH]
  const add = (path: string, address: Address): void => void found.push({ path, address })
  if (gasless.chain === chain && hasSwaps(settings)) {
    add('gasless.permit2', gasless.permit2)
    for (const [n, address] of gasless.spenders.entries()) add(`gasless.spenders[${n}]`, address)
    for (const { pair, feed, sequencerFeed } of prices.values()) {
      add(`prices.${pair}.feed`, feed)
      if (sequencerFeed !== undefined) add(`prices.${pair}.sequencerFeed`, sequencerFeed)
    }
  }
  for (const { symbol, address } of tokensOn(chain, settings))
    add(`tokens.${symbol}.address`, address)
  if (aggregator?.chain === chain) {
    const { contracts, targets } = aggregator
    for (const [name, address] of Object.entries(contracts))
      add(`aggregator.contracts.${name}`, address)
    for (const [name, address] of targets) add(`aggregator.targets.${name}`, address)
  }
  return found
}

/** Ether or tokens sent to an address without code are lost, and a call to one succeeds. */
export function checkCode(
  chain: string,
  named: readonly NamedAddress[],
  codes: ReadonlyMap<Address, Hex>,
): Checks {
  const bare = named.filter(({ address }) => (codes.get(address) ?? '0x') === '0x')
  if (bare.length > 0)
    return bare.map(({ path, address }) =>
      fault(
        'code',
        `${path}: there is no contract at ${address} on ${chain}`,
        `compare the address with the issuer's own page and correct it; or the node of ${chain} serves another chain`,
      ),
    )
  const all = named.length === 1 ? 'the address' : `all ${named.length} addresses`
  return fine('code', `${chain}: ${all} of the config ${named.length === 1 ? 'has' : 'have'} code`)
}

const COMPARE = "compare the token's address with the issuer's own page"

/** Amounts use the config's decimals: a wrong value is off by powers of ten. */
export function checkTokens(
  tokens: readonly Token[],
  seen: ReadonlyMap<Address, TokenInspection>,
): readonly Check[] {
  const agrees = ({ address, decimals }: Token) => seen.get(address)?.decimals === decimals
  const agreeing = tokens.filter(agrees).map(({ symbol }) => symbol)
  return [
    ...tokens.flatMap((token) => [
      ...(agrees(token) ? [] : [decimalsCheck(token, seen.get(token.address)?.decimals)]),
      ...symbolChecks(token, seen.get(token.address)?.symbol),
    ]),
    ...allFine('token-decimals', agreeing, 'decimals match their contracts'),
  ]
}

function decimalsCheck({ symbol, decimals }: Token, said: number | undefined): Check {
  if (said === undefined)
    return unknown('token-decimals', `${symbol}: its contract returns no decimals`, COMPARE)
  const says = `${symbol}: the config has ${decimals} decimals, its contract says ${said}`
  const remedy = `correct \`tokens.${symbol}.decimals\`, or the address, before you trade`
  return fault('token-decimals', says, remedy)
}

function symbolChecks({ symbol }: Token, said: string | undefined): readonly Check[] {
  if (said === undefined || said === symbol) return []
  const says = `${symbol}: its contract has the symbol ${JSON.stringify(said)}`
  return [warning('token-symbol', says, COMPARE)]
}

const isSame = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase()

/** Compares the config's tokens with the known ones of Base: anyone can deploy a token called USDC. */
export function checkKnownTokens(tokens: readonly Token[]): readonly Check[] {
  return tokens.flatMap(({ symbol, address }) => {
    const own = BASE_TOKENS.find((known) => isSame(known.address, address))
    const namesake = BASE_TOKENS.find((known) => isSame(known.symbol, symbol))
    if (own !== undefined && !isSame(own.symbol, symbol)) {
      const says = `${symbol}: its address is that of ${own.symbol} on Base`
      const remedy = `rename \`tokens.${symbol}\` to ${own.symbol}, or correct its address`
      return [fault('known-token', says, remedy)]
    }
    if (own !== undefined) return [fine('known-token', `${symbol}: the known address on Base`)]
    if (namesake === undefined) return []
    const says = `${symbol}: ${namesake.symbol} on Base is ${namesake.address}, not ${address}`
    const remedy = `correct \`tokens.${symbol}.address\`; if you mean another token, give it another name`
    return [fault('known-token', says, remedy)]
  })
}

type NamedFeed = Pick<PriceFeed, 'pair' | 'base' | 'quote' | 'feed' | 'sequencerFeed'>

/** Compares each feed's own description, such as `ETH / USD`, with the config's pair. */
export function checkFeedNames(
  feeds: readonly NamedFeed[],
  seen: ReadonlyMap<Address, TokenInspection>,
): readonly Check[] {
  return feeds.flatMap((each) => [
    checkFeedName(each, seen.get(each.feed)?.description),
    ...sequencerChecks(each),
  ])
}

function checkFeedName({ pair, base, quote }: NamedFeed, said = ''): Check {
  const remedy = `compare \`prices.${pair}.feed\` with Chainlink's list for Base`
  const [of, to, ...rest] = said.split('/').map((part) => part.trim())
  const called = said === '' ? 'has no description' : `is called ${JSON.stringify(said)}`
  if (of === undefined || to === undefined || rest.length > 0)
    return warning('feed-description', `${pair}: its feed ${called}`, remedy)
  if (isNamed(base, of) && isNamed(quote, to))
    return fine('feed-description', `${pair}: its feed is ${said}`)
  return fault('feed-description', `${pair}: its feed ${called}`, remedy)
}

function sequencerChecks({ pair, sequencerFeed = BASE_SEQUENCER_FEED }: NamedFeed): Check[] {
  if (isSame(sequencerFeed, BASE_SEQUENCER_FEED)) return []
  const says = `${pair}: ${sequencerFeed} is not the sequencer uptime feed of Base`
  const remedy = `set \`prices.${pair}.sequencerFeed\` to ${BASE_SEQUENCER_FEED}`
  return [fault('feed-description', says, remedy)]
}

/** A stablecoin counts as its currency: the config takes `ETH / USD` for WETH/USDC. */
function isNamed({ symbol, address }: Token, name: string): boolean {
  const known = BASE_TOKENS.find((each) => isSame(each.address, address))
  const currency = /^(USD|EUR)/i.exec(symbol)?.[0]
  return [symbol, known?.feedName, currency].some((each) => isSame(each ?? '', name))
}

import type { TokenInspection } from '../../../chain/inspection.ts'
import type { Token } from '../../../domain/money/token.ts'
import type { Address, Hex } from '../../../domain/money/units.ts'
import type { ChainSettings, Settings } from '../../../domain/settings.ts'
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

/** An address in the config, with its key. */
type NamedAddress = { readonly path: string; readonly address: Address }

/** Multicall3, which carries all reads. No config names it. */
const READS_THROUGH: NamedAddress = {
  path: 'Multicall3, used for all reads',
  address: '0xca11bde05977b3631167028862be2a173976ca11',
}

/** Checks the code at the config's addresses on one chain, and its tokens. */
export async function inspectContracts(
  { settings }: Known,
  chain: ChainSettings,
  probes: Probes,
): Promise<Checks> {
  const { name } = chain
  if (isSilent(chain))
    return unknown('code', `${name}: its contracts were not checked: no node is usable`)
  const named = addressesOf(settings, name)
  const addresses = [...new Set(named.map(({ address }) => address))]
  const tokens = tokensOn(name, settings)
  const ofTokens = tokens.map(({ address }) => address)
  const [code, decimals] = await Promise.all([
    inspectReply(
      'code',
      () => probes.code(chain, addresses),
      (codes) => checkCode(name, named, codes),
    ),
    tokens.length === 0
      ? []
      : inspectReply(
          'token-decimals',
          () => probes.tokens(chain, ofTokens),
          (seen) => checkTokens(tokens, seen),
        ),
  ])
  return [...code, ...decimals]
}

/** All addresses on a chain that must be contracts. */
function addressesOf(settings: Settings, chain: string): readonly NamedAddress[] {
  const { gasless, aggregator, prices } = settings
  const found: NamedAddress[] = [READS_THROUGH]
  const add = (path: string, address: Address): void => void found.push({ path, address })
  if (gasless.chain === chain) {
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
  return fine('code', `${chain}: all ${named.length} addresses of the config have code`)
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
  return fault(
    'token-decimals',
    `${symbol}: the config has ${decimals} decimals, its contract says ${said}`,
    `correct \`tokens.${symbol}.decimals\`, or the address, before you trade`,
  )
}

function symbolChecks({ symbol }: Token, said: string | undefined): readonly Check[] {
  if (said === undefined || said === symbol) return []
  const says = `${symbol}: its contract has the symbol ${JSON.stringify(said)}`
  return [warning('token-symbol', says, COMPARE)]
}

import type { TokenSight } from '../../../../adapters/chain/inspection.ts'
import type { AggregatorSettings, Settings } from '../../../../domain/settings.ts'
import type { Token } from '../../../../domain/token.ts'
import type { Address, Hex } from '../../../../domain/units.ts'
import { allFine, type Check, fault, fine, unknown, warning } from '../check.ts'

/** An address that the config names, where, and what it is there for. */
export type NamedAddress = { readonly path: string; readonly address: Address }

/** Multicall3 stands in no config: everything is read through it. */
const READS_THROUGH: NamedAddress = {
  path: 'Multicall3, which everything is read through',
  address: '0xca11bde05977b3631167028862be2a173976ca11',
}

/** Every address of a chain that has to be a contract. */
export function addressesOf(settings: Settings, chain: string): readonly NamedAddress[] {
  const { gasless, aggregator, tokens } = settings
  return [
    READS_THROUGH,
    ...(gasless.chain === chain ? tradingAddresses(settings) : []),
    ...[...tokens.values()]
      .filter((token) => token.chain === chain)
      .map(({ symbol, address }) => ({ path: `tokens.${symbol}.address`, address })),
    ...(aggregator?.chain === chain ? callAddresses(aggregator) : []),
  ]
}

function tradingAddresses({ gasless, prices }: Settings): readonly NamedAddress[] {
  const { permit2, spenders } = gasless
  return [
    { path: 'gasless.permit2', address: permit2 },
    ...spenders.map((address, n) => ({ path: `gasless.spenders[${n}]`, address })),
    ...[...prices.values()].flatMap(({ pair, feed, sequencerFeed }) => [
      { path: `prices.${pair}.feed`, address: feed },
      ...(sequencerFeed === undefined
        ? []
        : [{ path: `prices.${pair}.sequencerFeed`, address: sequencerFeed }]),
    ]),
  ]
}

function callAddresses({ contracts, targets }: AggregatorSettings): readonly NamedAddress[] {
  const at = (section: string, [name, address]: readonly [string, Address]): NamedAddress => ({
    path: `aggregator.${section}.${name}`,
    address,
  })
  return [
    ...Object.entries(contracts).map((entry) => at('contracts', entry)),
    ...[...targets].map((entry) => at('targets', entry)),
  ]
}

/** Ether or tokens that are sent to an address without code are gone, and a call of one succeeds. */
export function judgeCode(
  chain: string,
  named: readonly NamedAddress[],
  codes: ReadonlyMap<Address, Hex>,
): readonly Check[] {
  const bare = named.filter(({ address }) => (codes.get(address) ?? '0x') === '0x')
  if (bare.length > 0)
    return bare.map(({ path, address }) =>
      fault(
        'code',
        `${path}: there is no contract at ${address} on ${chain}`,
        `compare the address with the issuer's own page, and correct it; or the node of ${chain} is another chain's`,
      ),
    )
  return [fine('code', `${chain}: all ${named.length} addresses of the config have code`)]
}

/** Amounts are read by the config's decimals: a wrong one is wrong by powers of ten. */
export function judgeTokens(
  tokens: readonly Token[],
  seen: ReadonlyMap<Address, TokenSight>,
): readonly Check[] {
  const checks: Check[] = []
  const agreeing: string[] = []
  for (const token of tokens) {
    const { symbol, address, decimals } = token
    const sight = seen.get(address)
    if (sight?.decimals === undefined)
      checks.push(
        unknown('token-decimals', `${symbol}: its contract does not say its decimals`, COMPARE),
      )
    else if (sight.decimals !== decimals)
      checks.push(
        fault(
          'token-decimals',
          `${symbol}: the config has ${decimals} decimals, its contract says ${sight.decimals}`,
          `correct \`tokens.${symbol}.decimals\`, or the address, before anything is traded`,
        ),
      )
    else agreeing.push(symbol)
    const named = sight?.symbol
    if (named !== undefined && named !== symbol)
      checks.push(
        warning(
          'token-symbol',
          `${symbol}: its contract calls itself ${JSON.stringify(named)}`,
          COMPARE,
        ),
      )
  }
  return [...checks, ...allFine('token-decimals', agreeing, 'decimals as their contracts say')]
}

const COMPARE = "compare the token's address with the issuer's own page"

import type { ChainSettings, Settings } from '../../../../domain/settings.ts'
import type { Hex } from '../../../../domain/units.ts'
import type { Asking } from '../../../compose/checkup.ts'
import { look, lookAtChain } from '../bounded.ts'
import { type Check, unknown } from '../check.ts'
import { addressesOf, judgeCode, judgeTokens } from '../judge/contracts.ts'
import { judgeGas } from '../judge/gas.ts'
import { isUsable, judgeChain } from '../judge/nodes.ts'
import { isSilent, type Known } from './known.ts'

/** What chains came to: their nodes, and the settings with those alone that can be asked. */
export type ChainsLooked = {
  readonly checks: readonly Check[]
  readonly settings: Settings
  /** First block of the gasless service's chain, where a node said it. */
  readonly genesisHash: Hex | undefined
}

/** Meets every node of every chain, side by side. */
export async function lookAtChains(
  { settings }: Pick<Known, 'settings'>,
  asking: Asking,
): Promise<ChainsLooked> {
  const looked = await Promise.all(
    [...settings.chains.values()].map(async (chain) => {
      const nodes = await look('node', () => asking.nodes(chain), NODES_MS_MAX)
      if (!nodes.ok) return { chain: { ...chain, rpcUrls: [] }, checks: nodes.checks, first: [] }
      const sights = nodes.value
      const rpcUrls = chain.rpcUrls.filter((_, n) => {
        const sight = sights[n]
        return sight !== undefined && isUsable(sight, chain)
      })
      const reachable = { ...chain, rpcUrls }
      const checks = [
        ...judgeChain({ chain, nodes: sights, nowMs: asking.now() }),
        ...(await lookAtGas(reachable, settings, asking)),
      ]
      const own = sights.filter((sight) => isUsable(sight, chain))
      const first = own.flatMap(({ met }) => (met.ok ? (met.value.genesisHash ?? []) : []))
      return { chain: reachable, checks, first }
    }),
  )
  const own = looked.find(({ chain }) => chain.name === settings.gasless.chain)
  return {
    checks: looked.flatMap(({ checks }) => checks),
    settings: { ...settings, chains: new Map(looked.map(({ chain }) => [chain.name, chain])) },
    genesisHash: own?.first[0],
  }
}

/** A dry-run pays for no gas. */
async function lookAtGas(
  chain: ChainSettings,
  { mode }: Settings,
  asking: Asking,
): Promise<readonly Check[]> {
  if (isSilent(chain) || mode === 'dry-run') return []
  return lookAtChain(
    'gas-limits',
    () => asking.fees(chain),
    (fees) => [judgeGas(chain, fees)],
  )
}

/** Nodes are asked two or three times in a row, each time for no longer than one look. */
const NODES_MS_MAX = 15_000

/** What stands at the addresses of the config, on one chain. */
export async function lookAtContracts(
  { settings }: Known,
  chain: ChainSettings,
  asking: Asking,
): Promise<readonly Check[]> {
  const { name } = chain
  if (isSilent(chain))
    return [unknown('code', `${name}: its contracts were not looked at, for no node can be asked`)]
  const named = addressesOf(settings, name)
  const addresses = [...new Set(named.map(({ address }) => address))]
  const tokens = [...settings.tokens.values()].filter((token) => token.chain === name)
  const [code, decimals] = await Promise.all([
    lookAtChain(
      'code',
      () => asking.code(chain, addresses),
      (codes) => judgeCode(name, named, codes),
    ),
    tokens.length === 0
      ? []
      : lookAtChain(
          'token-decimals',
          () =>
            asking.tokens(
              chain,
              tokens.map(({ address }) => address),
            ),
          (seen) => judgeTokens(tokens, seen),
        ),
  ])
  return [...code, ...decimals]
}

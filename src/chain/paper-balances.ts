import { NATIVE_TOKEN } from '../../domain/token.ts'
import type { Address } from '../../domain/units.ts'
import type { Chain } from '../../ports.ts'

/**
 * A chain whose wallet holds what a config says it begins with, for a dry-run: prices and everything else are the chain's, and what
 * the wallet really holds counts for nothing. What was traded on paper since is in the journal. Base units; ether by NATIVE_TOKEN.
 */
export function withPaperBalances<Of extends Pick<Chain, 'view'>>(
  chain: Of,
  paper: ReadonlyMap<Address, bigint>,
): Of {
  return {
    ...chain,
    async view(query) {
      const reply = await chain.view(query)
      if (!reply.ok) return reply
      const balances = new Map(
        query.tokens.map(({ address }) => [address, paper.get(address) ?? 0n] as const),
      )
      const nativeBalance = paper.get(NATIVE_TOKEN) ?? 0n
      return { ...reply, value: { ...reply.value, balances, nativeBalance } }
    },
  }
}

import { NATIVE_TOKEN } from '../domain/money/token.ts'
import type { Address } from '../domain/money/units.ts'
import type { Chain } from '../ports.ts'

/**
 * Replaces the wallet's balances with the config's starting balances, for a dry run. Everything else comes from the chain,
 * and later paper trades from the journal. Base units; ether under NATIVE_TOKEN.
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

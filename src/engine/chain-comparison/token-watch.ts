import type { Token } from '../../domain/money/token.ts'
import type { Address } from '../../domain/money/units.ts'
import type { TokenInfo } from '../../domain/order/quote.ts'
import { assetsOf } from '../../strategies/registry.ts'
import { readTokenList } from '../../venues/chain-requests.ts'
import type { OrderContext, TokenFault } from '../../venues/context.ts'

const READ_EVERY_MS = 3_600_000
/** Interval while the list is unavailable or differs, and delay of the first read, because startup has just read it. */
const READ_SOON_MS = 60_000

/**
 * Compares the config's tokens with the service's list. Amounts always use the config's decimals. A service with other
 * decimals misreads every order, and one that does not list a token rejects its orders, so orders of that token are not
 * signed until both match. An unavailable or empty list proves nothing. `unlisted` are the tokens that startup did not find.
 */
export function createTokenWatch(
  { ports, closing, strategies }: Pick<OrderContext, 'ports' | 'closing' | 'strategies'>,
  tokens: readonly Token[],
  unlisted: readonly Token[],
) {
  const faults = new Map<Address, TokenFault>(
    unlisted.map((token) => [token.address, unlistedFault(token)]),
  )
  let isRead = false

  const compare = (token: Token, listed: readonly TokenInfo[]): void => {
    const { address, symbol, decimals } = token
    const before = faults.get(address)
    const other = listed.find((each) => each.decimals !== decimals)?.decimals
    if (other !== undefined) {
      const detail = `the service lists ${symbol} with ${other} decimals, the config has ${decimals}: no order of it is signed until they agree`
      faults.set(address, { reason: 'token-mismatch', detail })
      const claim = { service: 'gasless', what: 'tokens', detail, moneyWaits: true } as const
      ports.observe({ type: 'disbelieved', ...claim })
    } else if (listed.length > 0 && before?.reason === 'token-mismatch') {
      const note = `agrees with the config on the decimals of ${symbol} again`
      ports.observe({ type: 'service-note', service: 'gasless', note })
    }
    if (other === undefined && listed.length > 0) faults.delete(address)
    // A token with other decimals stays refused when it leaves the list.
    else if (other === undefined && before === undefined) faults.set(address, unlistedFault(token))
    const isListed = faults.get(address)?.reason !== 'token-unlisted'
    if (isListed !== (before?.reason !== 'token-unlisted')) report(token, isListed)
  }

  const report = ({ address, symbol }: Token, isListed: boolean): void => {
    const trading = [...strategies.values()].filter((strategy) =>
      assetsOf(strategy).some(({ token }) => token.address === address),
    )
    const names = trading.map(({ name }) => name)
    ports.observe({ type: 'token-listing', token: symbol, isListed, strategies: names })
  }

  const read = async (): Promise<void> => {
    const reply = await readTokenList({ ports, closing })
    const list = reply?.ok === true ? reply.value : []
    isRead = list.length > 0
    if (!isRead) return
    for (const token of tokens)
      compare(
        token,
        list.filter(({ address }) => address === token.address),
      )
  }

  return {
    /** Why orders of a token are not signed; undefined if nothing is wrong with it. */
    fault: (token: Address) => faults.get(token),
    read,
    async keep(): Promise<void> {
      for (const token of unlisted) report(token, false)
      await ports.clock.sleep(READ_SOON_MS, closing)
      while (!closing.aborted) {
        await read()
        const isWell = isRead && faults.size === 0
        await ports.clock.sleep(isWell ? READ_EVERY_MS : READ_SOON_MS, closing)
      }
    },
  }
}

function unlistedFault({ symbol }: Token): TokenFault {
  const detail = `the service does not list ${symbol}: no order of it is signed until it does`
  return { reason: 'token-unlisted', detail }
}

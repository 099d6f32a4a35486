import type { Token } from '../../domain/money/token.ts'
import type { Address } from '../../domain/money/units.ts'
import type { TokenInfo } from '../../domain/order/quote.ts'
import { readTokenList } from '../../venues/chain-requests.ts'
import type { OrderContext } from '../../venues/context.ts'

const READ_EVERY_MS = 3_600_000
/** Interval while the list is unavailable or differs, and delay of the first read, because startup has just read it. */
const READ_SOON_MS = 60_000

/**
 * Compares the config's tokens with the service's list. Amounts always use the config's decimals. A service with other
 * decimals misreads every order, so orders of that token are not signed until both match. An unavailable list proves
 * nothing.
 */
export function createTokenWatch(
  { ports, closing }: Pick<OrderContext, 'ports' | 'closing'>,
  tokens: readonly Token[],
) {
  const mismatches = new Map<Address, string>()
  let isRead = false

  const compare = ({ address, symbol, decimals }: Token, listed: readonly TokenInfo[]): void => {
    const other = listed.find((each) => each.decimals !== decimals)?.decimals
    if (other !== undefined) {
      const detail = `the service lists ${symbol} with ${other} decimals, the config has ${decimals}: no order of it is signed until they agree`
      mismatches.set(address, detail)
      const claim = { service: 'gasless', what: 'tokens', detail, moneyWaits: true } as const
      ports.observe({ type: 'disbelieved', ...claim })
    } else if (listed.length > 0 && mismatches.delete(address)) {
      // A token missing from the list does not count as matching.
      const note = `agrees with the config on the decimals of ${symbol} again`
      ports.observe({ type: 'service-note', service: 'gasless', note })
    }
  }

  const read = async (): Promise<void> => {
    const reply = await readTokenList({ ports, closing })
    isRead = reply?.ok === true
    if (reply?.ok !== true) return
    for (const token of tokens) {
      const listed = reply.value.filter(({ address }) => address === token.address)
      compare(token, listed)
    }
  }

  return {
    /** Reason not to sign orders of a token; undefined if there is none. */
    mismatch: (token: Address) => mismatches.get(token),
    read,
    async keep(): Promise<void> {
      await ports.clock.sleep(READ_SOON_MS, closing)
      while (!closing.aborted) {
        await read()
        const isWell = isRead && mismatches.size === 0
        await ports.clock.sleep(isWell ? READ_EVERY_MS : READ_SOON_MS, closing)
      }
    },
  }
}

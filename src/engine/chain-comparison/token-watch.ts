import type { Token } from '../../domain/money/token.ts'
import type { Address } from '../../domain/money/units.ts'
import { soon } from '../../venues/chain-requests.ts'
import type { OrderContext } from '../../venues/context.ts'

const LOOK_EVERY_MS = 3_600_000
/** While the list is unavailable or disagrees, and for the first read, because startup has just read it. */
const READ_SOON_MS = 60_000

type TokenWatch = {
  /** Why orders of a token must not be signed; undefined if there is no objection. */
  trouble(token: Address): string | undefined
  look(): Promise<void>
  keep(): Promise<void>
}

/**
 * Compares the config's tokens with the service's list. Amounts always use the config's decimals; a service with other
 * decimals misreads every order, so none is signed until both match. An unavailable list proves nothing.
 */
export function createTokenWatch(
  { ports, closing }: Pick<OrderContext, 'ports' | 'closing'>,
  tokens: readonly Token[],
): TokenWatch {
  const mismatches = new Map<Address, string>()
  let isRead = false

  const judge = (token: Token, listed: readonly number[]): void => {
    const { address, symbol, decimals } = token
    const other = listed.find((each) => each !== decimals)
    if (other !== undefined) {
      const detail = `the service lists ${symbol} with ${other} decimals, the config has ${decimals}: no order of it is signed until they agree`
      mismatches.set(address, detail)
      ports.observe({
        type: 'disbelieved',
        ...{ service: 'gasless', what: 'tokens' },
        ...{ detail, moneyWaits: true },
      })
      return
    }
    // A token missing from the list does not count as matching.
    if (listed.length === 0 || !mismatches.delete(address)) return
    const note = `agrees with the config on the decimals of ${symbol} again`
    ports.observe({ type: 'service-note', service: 'gasless', note })
  }

  const look = async (): Promise<void> => {
    const asked = ports.queue.runUnless(closing, 'tokens', () => ports.gasless.tokens())
    const reply = await soon(ports, asked)
    isRead = reply?.ok === true
    if (reply?.ok !== true) return
    for (const token of tokens) {
      const listed = reply.value.filter(({ address }) => address === token.address)
      judge(
        token,
        listed.map(({ decimals }) => decimals),
      )
    }
  }

  return {
    trouble: (token) => mismatches.get(token),
    look,
    async keep() {
      await ports.clock.sleep(READ_SOON_MS, closing)
      while (!closing.aborted) {
        await look()
        const isWell = isRead && mismatches.size === 0
        await ports.clock.sleep(isWell ? LOOK_EVERY_MS : READ_SOON_MS, closing)
      }
    },
  }
}

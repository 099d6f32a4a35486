import type { Token } from '../domain/token.ts'
import type { Address } from '../domain/units.ts'
import { soon } from '../execute/ask.ts'
import type { OrderContext } from '../execute/context.ts'

const LOOK_EVERY_MS = 3_600_000
/** While the list could not be read, or disagrees; and the first time, for the start has looked just before. */
const LOOK_SOON_MS = 60_000

export type TokenWatch = {
  /** Why no order of a token may be signed; undefined where nothing is known against it. */
  trouble(token: Address): string | undefined
  /** Looks at the list now, and waits a moment for it. */
  look(): Promise<void>
  /** Looks each hour, until the daemon closes. */
  keep(): Promise<void>
}

/**
 * Holds the config's tokens against the service's list for as long as the daemon runs. Amounts are always read by the config's
 * decimals; a service that counts a token otherwise misreads every order of it, so that none is signed until both agree.
 * A list that cannot be read says nothing.
 */
export function createTokenWatch(
  { ports, closing }: Pick<OrderContext, 'ports' | 'closing'>,
  tokens: readonly Token[],
): TokenWatch {
  const troubles = new Map<Address, string>()
  let isRead = false

  const judge = (token: Token, listed: readonly number[]): void => {
    const { address, symbol, decimals } = token
    const other = listed.find((each) => each !== decimals)
    if (other !== undefined) {
      const detail = `the service lists ${symbol} with ${other} decimals, the config has ${decimals}: no order of it is signed until they agree`
      troubles.set(address, detail)
      ports.observe({
        type: 'disbelieved',
        ...{ service: 'gasless', what: 'tokens' },
        ...{ detail, moneyWaits: true },
      })
      return
    }
    // A token that is not listed at all has not come to agree.
    if (listed.length === 0 || !troubles.delete(address)) return
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
    trouble: (token) => troubles.get(token),
    look,
    async keep() {
      await ports.clock.sleep(LOOK_SOON_MS, closing)
      while (!closing.aborted) {
        await look()
        const isWell = isRead && troubles.size === 0
        await ports.clock.sleep(isWell ? LOOK_EVERY_MS : LOOK_SOON_MS, closing)
      }
    },
  }
}

import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { hashTypedData, type TypedDataDefinition } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { type Address, baseUnits, type Hex } from '../../../src/domain/money/units.ts'
import type { Quote } from '../../../src/domain/order/quote.ts'
import type { GaslessRoute } from '../../../src/journal/runtime-event.ts'
import type { Sandbox } from '../../../src/sandbox/sandbox.ts'
import { createKey } from '../../../src/signing/keys/key.ts'
import { createGaslessHttp } from '../../../src/venues/swap/client/gasless-client.ts'
import type { GaslessUnderTest } from '../../contract/gasless/gasless.ts'
import { admin, approve, tokenOf } from '../sandbox.ts'

const ROUTES = { tokens: 'tokens', quote: 'quote', submit: 'orders', poll: 'order' } as const
const RETRY_AFTER_SECONDS = 2

const lower = (address: string) => address.toLowerCase() as Address

/** The live adapter over a running sandbox: HTTP, a real signature and settlement through Permit2, in real time. */
export async function makeSandboxGaslessRig(sandbox: Sandbox): Promise<GaslessUnderTest> {
  const [sellToken, buyToken] = [tokenOf(sandbox, 'USDC'), tokenOf(sandbox, 'WETH')]
  const sellAmount = baseUnits(25_000_000n)
  const key = randomBytes(32)
  const account = privateKeyToAccount(`0x${key.toString('hex')}`)
  const [signer, stranger] = [createKey(key), createKey(randomBytes(32))]
  const fund = async (token: string, amount: bigint) => {
    const { address } = account
    await admin(sandbox, 'POST', '/fund', { address, token, amount: amount.toString() })
  }
  await fund('ETH', 10n ** 18n)
  await fund(sellToken.symbol, sellAmount)
  await approve(sandbox, account, sellToken.symbol)
  const gasless = createGaslessHttp({
    baseUrl: sandbox.gaslessUrl,
    wire: { preferOwn: 'preferOwn', onlyOwn: 'onlyOwn' },
    routingPreference: 'auto',
    clock: Date,
    observe: () => undefined,
    onRateLimit: () => undefined,
    onRetryAfter: () => undefined,
  })
  return {
    gasless,
    owner: signer.address,
    sellToken: lower(sellToken.address),
    buyToken: lower(buyToken.address),
    sellAmount,
    buyAmount: baseUnits(5n * 10n ** 15n),
    serviceNowMs: () => Date.now(),
    sign: (quote) => signer.signDigest(digestOf(quote)),
    signAsStranger: (quote) => stranger.signDigest(digestOf(quote)),
    elapse: (ms) => sleep(ms),
    expire: (quote) => sleep(Math.max(0, quote.expirationMs - Date.now()) + 1),
    failNext: (route: GaslessRoute, kind) =>
      sandbox.faults.set({
        rules: [
          {
            kind,
            route: ROUTES[route],
            count: 1,
            ...(kind === 'rateLimit' ? { retryAfterSeconds: RETRY_AFTER_SECONDS } : {}),
          },
        ],
      }),
    async dispose() {
      sandbox.faults.set({})
      await gasless.close()
    },
  }
}

/** Hashed by the general implementation, not by the daemon's own. */
function digestOf({ typedData }: Quote): Hex {
  return hashTypedData(typedData as unknown as TypedDataDefinition)
}

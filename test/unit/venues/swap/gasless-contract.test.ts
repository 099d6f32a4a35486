import { baseUnits } from '../../../../src/domain/money/units.ts'
import type { GaslessRoute } from '../../../../src/journal/runtime-event.ts'
import { createGaslessHttp } from '../../../../src/venues/swap/client/gasless-client.ts'
import { gaslessContract } from '../../../contract/gasless/gasless.ts'
import {
  createGaslessModel,
  MODEL_TOKENS,
  modelSignature,
} from '../../../support/gasless/gasless-model.ts'
import { startScriptedServer } from '../../../support/process/scripted-server.ts'

const MODEL_ROUTES = { tokens: 'tokens', quote: 'quote', submit: 'orders', poll: 'order' } as const

// Shows that the contract suite can be met, and that the live adapter meets it with a service without keys.
gaslessContract('the live adapter over a model of the service', async () => {
  const server = await startScriptedServer()
  const model = createGaslessModel()
  server.answerWith(model.answer)
  const gasless = createGaslessHttp({
    baseUrl: server.url,
    wire: { preferOwn: 'preferHouse', onlyOwn: 'onlyHouse' },
    routingPreference: 'auto',
    // The daemon's clock follows the service's clock, as if the time had passed.
    clock: { now: model.nowMs },
    observe: () => {},
    onRateLimit: () => {},
    onRetryAfter: () => {},
  })
  return {
    gasless,
    owner: '0x1111111111111111111111111111111111111111',
    sellToken: MODEL_TOKENS.sell,
    buyToken: MODEL_TOKENS.buy,
    sellAmount: baseUnits(1_000_000n),
    buyAmount: baseUnits(250_000_000_000_000n),
    serviceNowMs: model.nowMs,
    sign: (quote) => modelSignature(quote.id),
    signAsStranger: (quote) => modelSignature(`stranger:${quote.id}`),
    elapse: async (ms) => model.elapse(ms),
    expire: async (quote) => model.elapse(quote.expirationMs - model.nowMs() + 1),
    failNext: (route: GaslessRoute, fault) => model.failNext(MODEL_ROUTES[route], fault),
    dispose: async () => {
      await server.close()
      await gasless.close()
    },
  }
})

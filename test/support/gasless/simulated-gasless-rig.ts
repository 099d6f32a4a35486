import { hashTypedData, type TypedDataDefinition } from 'viem'
import { type Address, baseUnits, type Hex } from '../../../src/domain/money/units.ts'
import type { Quote } from '../../../src/domain/order/quote.ts'
import { createRandom } from '../../../src/domain/random.ts'
import type { GaslessRoute } from '../../../src/journal/runtime-event.ts'
import type { Gasless } from '../../../src/ports.ts'
import type { GaslessFault, GaslessUnderTest } from '../../contract/gasless/gasless.ts'
import { noServiceFaults, type ServiceFaults } from '../../simulation/gasless/faults.ts'
import { createSimulatedGasless } from '../../simulation/gasless/gasless.ts'
import { SimulatedProcess } from '../../simulation/process.ts'
import { simulatedSignature } from '../../simulation/signer.ts'
import { Simulation } from '../../simulation/simulation.ts'
import { USDC, WALLET, WETH } from '../../simulation/stage.ts'
import { inVirtualTime } from '../simulated-time.ts'

const SELL_AMOUNT = baseUnits(25_000_000n)
const BUY_AMOUNT = baseUnits(5_000_000_000_000_000n)
const RETRY_AFTER_MS = 2_000
const STRANGER: Address = '0x00000000000000000000000000000000000000bb'

/** A client of the simulated service cannot distinguish a cut connection from an error text. */
const FAULTS: Readonly<Record<GaslessFault, Partial<ServiceFaults>>> = {
  rateLimit: { rateLimited: 1 },
  errorBefore: { failsBefore: 1 },
  dropBefore: { failsBefore: 1 },
  errorAfter: { failsAfter: 1 },
  dropAfter: { failsAfter: 1 },
}

/** The simulated service of a simulation without a daemon, as a client in virtual time sees it. */
export function makeSimulatedGaslessRig(): GaslessUnderTest {
  const sim = new Simulation({ seed: 'gasless contract', strategies: [] })
  const { clock, service, serviceFaults } = sim
  const random = createRandom('gasless contract client')
  const process = new SimulatedProcess(clock, random.fork('net'))
  const armed = new Map<GaslessRoute, GaslessFault>()
  const client = createSimulatedGasless({
    service,
    faults: serviceFaults,
    // The only number that it draws from a range is the wait of a rate-limited client.
    random: { ...random.fork('client'), between: () => RETRY_AFTER_MS },
    process,
    clock,
    tokens: [USDC, WETH],
  })

  const failing = async <Answer>(
    route: GaslessRoute,
    ask: () => Promise<Answer>,
  ): Promise<Answer> => {
    const fault = armed.get(route)
    armed.delete(route)
    if (fault !== undefined) Object.assign(serviceFaults, FAULTS[fault])
    const answer = await ask()
    Object.assign(serviceFaults, noServiceFaults())
    return answer
  }
  const gasless: Gasless = {
    tokens: () => failing('tokens', () => client.tokens()),
    quote: (request) => failing('quote', () => client.quote(request)),
    submit: (order) => failing('submit', () => client.submit(order)),
    order: (orderId) => failing('poll', () => client.order(orderId)),
    clockOffsetMs: () => client.clockOffsetMs(),
  }

  sim.ledger.setAllowance(USDC.address, WALLET, SELL_AMOUNT)
  return {
    gasless: inVirtualTime(clock, gasless),
    owner: WALLET,
    sellToken: USDC.address,
    buyToken: WETH.address,
    sellAmount: SELL_AMOUNT,
    buyAmount: BUY_AMOUNT,
    serviceNowMs: () => service.nowMs,
    sign: (quote) => simulatedSignature(WALLET, digestOf(quote)),
    signAsStranger: (quote) => simulatedSignature(STRANGER, digestOf(quote)),
    elapse: (ms) => sim.runFor(ms),
    expire: (quote) => sim.runFor(quote.expirationMs - service.nowMs + 1),
    failNext: (route, fault) => {
      armed.set(route, fault)
    },
    dispose: async () => process.die(),
  }
}

/** Hashed by the general implementation, not by the daemon's own. */
function digestOf({ typedData }: Quote): Hex {
  return hashTypedData(typedData as unknown as TypedDataDefinition)
}

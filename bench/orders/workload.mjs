import { readFileSync } from 'node:fs'
import { quantile } from '../statistics.mjs'

/**
 * Delay until the next poll, the same on both sides: the result of `pollDelayMs` for this `pollMsMin` and a young
 * order.
 */
export const POLL_MS_MIN = 1
export const pollDelayMs = () => Math.round(POLL_MS_MIN * (1 + Math.random() / 2))

/**
 * Base units of USDC (6 decimals) that every order sells; slippage wide enough for the moving market of the sandbox.
 */
export const SELL_AMOUNT = 10_000_000n
export const SLIPPAGE_BPS = 200

/**
 * Runs `warmup` orders, then times `orders` more, with this many workers that each begin the next order when theirs has
 * ended. `one(worker)` carries an order to its proven fill.
 */
export async function runWorkload({ concurrency, warmup, orders, one }) {
  await drive(concurrency, warmup, one)
  const freshMiB = residentMiB()
  const cpuBefore = process.cpuUsage()
  const loopBefore = loopThreadMicros()
  const startedAt = performance.now()
  const latencies = await drive(concurrency, orders, one)
  const elapsedMs = performance.now() - startedAt
  const cpu = process.cpuUsage(cpuBefore)
  const loopMicros = loopThreadMicros() - loopBefore
  return {
    orders,
    ordersPerSecond: (orders * 1000) / elapsedMs,
    latencyMsP50: quantile(latencies, 0.5),
    latencyMsP95: quantile(latencies, 0.95),
    cpuMicrosPerOrder: (cpu.user + cpu.system) / orders,
    loopMicrosPerOrder: loopMicros / orders,
    freshMiB,
    memoryMiB: residentMiB(),
  }
}

function residentMiB() {
  return process.memoryUsage().rss / 2 ** 20
}

async function drive(concurrency, orders, one) {
  const latencies = []
  let left = orders
  const worker = async (index) => {
    while (left > 0) {
      left -= 1
      const startedAt = performance.now()
      await one(index)
      latencies.push(performance.now() - startedAt)
    }
  }
  await Promise.all(Array.from({ length: concurrency }, (_, index) => worker(index)))
  return latencies
}

/**
 * CPU time of the thread that runs JavaScript, in microseconds. With one thread and enough work, orders a second are
 * one over this; unlike them it hardly depends on other load on the machine. NaN where the system does not report it.
 */
function loopThreadMicros() {
  try {
    const { pid } = process
    const [nanoseconds] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')
    return Number(nanoseconds) / 1000
  } catch {
    return Number.NaN
  }
}

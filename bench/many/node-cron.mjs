// The peer: one task of node-cron for each strategy, which does nothing but note the time. Prints the times of each burst
// when its stdin closes.
import { schedule } from 'node-cron'

const [cron, timezone, count] = process.argv.slice(2)
const bursts = new Map()
for (let at = 0; at < Number(count); at += 1)
  schedule(
    cron,
    ({ date }) => {
      const second = Math.floor(date.getTime() / 1_000)
      const burst = bursts.get(second) ?? []
      burst.push(Date.now())
      bursts.set(second, burst)
    },
    { timezone, logger: { info() {}, warn() {}, error() {}, debug() {} } },
  )
process.stdout.write('{}\n')
process.stdin.on('end', () => {
  process.stdout.write(`${JSON.stringify([...bursts])}\n`, () => process.exit())
})
process.stdin.resume()

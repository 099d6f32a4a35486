// `node scripts/day.mjs --speed 30`: runs a day of faults on the sandbox, that many times as fast as the clock, and
// compares Prometheus' alerts and the daemon's notifications with those that each fault must cause. Needs libfaketime,
// prometheus and promtool, and `npm run build`. `--hours 3` ends earlier. Exits with 1 if any is missing or unexpected.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { createFastTime } from './day/fast-time.mjs'
import { causeOf, DAY } from './day/faults.mjs'
import { createRecorder, evaluateAlerts } from './day/recorder.mjs'
import { createRig } from './day/rig.mjs'

const HOUR_MS = 3_600_000
const SCRAPE_MS = 15_000
const PORT = 19_464
/** Notifications that may come at any time. */
const USUAL = ['low-funds', 'recovered']

const { values } = parseArgs({
  options: {
    speed: { type: 'string', default: '30' },
    hours: { type: 'string', default: '24' },
    keep: { type: 'boolean', default: false },
  },
})
const hours = Number(values.hours)
const dir = mkdtempSync(join(tmpdir(), 'tranched-day-'))
// In the past, so that no queried time is in Prometheus' future.
const time = createFastTime({
  speed: Number(values.speed),
  startMs: Date.now() - 26 * HOUR_MS,
  dir,
})
const notified = []
/** Steps that failed. */
const broken = []
const attempt = async (task) => task()
const clockOf = (hour) =>
  `${String(Math.floor(hour)).padStart(2, '0')}:${String(Math.floor((hour % 1) * 60)).padStart(2, '0')}`
let rig
let isOver = false
try {
  // Notifications acknowledged too late are repeated with the same id, by which receivers deduplicate.
  const onNotification = (each) => {
    if (notified.every(({ id }) => id !== each.id)) notified.push(each)
  }
  rig = await createRig({ time, dir, port: PORT, onNotification })
  const startMs = time.now()
  const hourOf = (ms) => (ms - startMs) / HOUR_MS
  console.error(`a day at ${time.speed} times its speed, in ${dir}`)
  const recorder = createRecorder({ time, url: `http://127.0.0.1:${PORT}/metrics` })
  const scraping = (async () => {
    while (!isOver) {
      await recorder.scrape()
      await time.sleep(SCRAPE_MS - ((time.now() - startMs) % SCRAPE_MS))
    }
  })()
  const steps = DAY.flatMap(({ name, from, to, begin, end }) => [
    { at: from, text: name, act: begin },
    { at: to, text: `over: ${name}`, act: end },
  ])
    .filter(({ at }) => at < hours)
    .sort((a, b) => a.at - b.at)
  for (const { at, text, act } of steps) {
    await time.sleep(startMs + at * HOUR_MS - time.now())
    console.error(`${clockOf(hourOf(time.now()))}  ${text}`)
    // The rest of the day still gives results.
    await attempt(() => act(rig)).catch((error) => broken.push(`${text}: ${error.stack}`))
  }
  await time.sleep(startMs + hours * HOUR_MS - time.now())
  isOver = true
  await scraping
  const endMs = time.now()
  await rig.close()
  const file = join(dir, 'scrapes.txt')
  await recorder.save(file)
  const fired = await evaluateAlerts({ file, dir, fromMs: startMs, toMs: endMs })
  writeFileSync(join(dir, 'notified.json'), JSON.stringify(notified, undefined, 1))
  process.exitCode = report({ fired, hourOf }) ? 0 : 1
} finally {
  isOver = true
  await rig?.close()
  if (!values.keep) rmSync(dir, { recursive: true, force: true })
}

function report({ fired, hourOf }) {
  const faults = DAY.filter(({ from }) => from < hours)
  let isRight = true
  const wrong = (text) => {
    isRight = false
    console.log(`WRONG  ${text}`)
  }
  for (const text of broken) wrong(text)
  console.log('alerts:')
  for (const { alert, labels, fromMs, toMs } of fired) {
    const cause = causeOf(alert, hourOf(fromMs))
    const text = `${clockOf(hourOf(fromMs))}-${clockOf(hourOf(toMs))}  ${alert} ${Object.values(labels).join(' ')}`
    if (cause === undefined) wrong(`${text}: no fault explains it`)
    else console.log(`${text}  <- ${cause}`)
  }
  for (const { name, alerts } of faults)
    for (const alert of alerts)
      if (!fired.some((each) => each.alert === alert && causeOf(alert, hourOf(each.fromMs)) === name))
        wrong(`${alert} did not fire: ${name}`)
  console.log('notifications:')
  for (const { event, at, text } of notified) {
    const hour = hourOf(Date.parse(at))
    const near = faults.filter(({ from, to }) => hour >= from - 0.02 && hour <= to + 0.6)
    const line = `${clockOf(hour)}  ${event}  ${text}`
    const isUsual = USUAL.includes(event) || near.some(({ events }) => events.includes(event))
    if (isUsual) console.log(line)
    else wrong(`${line}: no fault explains it`)
  }
  for (const { name, from, to, events } of faults)
    for (const event of events)
      if (
        !notified.some((each) => {
          const hour = hourOf(Date.parse(each.at))
          return each.event === event && hour >= from - 0.02 && hour <= to + 0.6
        })
      )
        wrong(`no notification "${event}": ${name}`)
  return isRight
}

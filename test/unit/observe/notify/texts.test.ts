import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  FAILURE_REASONS,
  REFUSAL_REASONS,
  reasonText,
  SKIP_REASONS,
} from '../../../../src/domain/order/reason.ts'
import type { Text, TextContext } from '../../../../src/journal/wording/text.ts'
import { localTimeInZone } from '../../../../src/journal/wording/time.ts'
import {
  INCIDENTS,
  type IncidentKind,
  incidentText,
} from '../../../../src/observe/notify/incidents.ts'
import { crashedText, recoveredText, testText } from '../../../../src/observe/notify/message.ts'
import {
  AT_MS,
  FILL,
  HASH,
  NOTIFIED,
  noticesOfAny,
  SILENT,
} from '../../../support/notify/observations.ts'
import { ROOT } from '../../../support/process/cli.ts'
import { isHappened } from '../../../support/state/happened.ts'

const CONTEXT: TextContext = {
  timezone: 'Europe/Berlin',
  swapChain: { name: 'base', explorer: 'https://basescan.org/' },
  callChain: { name: 'sepolia', explorer: 'https://sepolia.etherscan.io' },
}

function written(name: string, event: string, { subject, lines, link }: Text): string {
  return [`# ${name} (${event})`, subject, ...lines, ...(link === undefined ? [] : [link])].join(
    '\n',
  )
}

/** Every text that a person may get, in the format of the golden file. */
function everyText(): string {
  const notices = Object.entries(NOTIFIED).flatMap(([name, observation]) =>
    noticesOfAny(observation, CONTEXT).map(({ event, text }) => written(name, event, text)),
  )
  const incidents = Object.keys(INCIDENTS).flatMap((each) => {
    const kind = each as IncidentKind
    const incident = { kind, sinceMs: AT_MS, atMs: AT_MS + 400_000, detail: 'no answer in time' }
    const over = { was: INCIDENTS[kind].over, sinceMs: AT_MS, atMs: AT_MS + 7_500_000 }
    return [
      written(`trouble with ${kind}`, 'trouble', incidentText(incident, CONTEXT)),
      written(`the end of it`, 'recovered', recoveredText(over, CONTEXT)),
    ]
  })
  const message = 'the journal failed: the disk is full'
  const own = [
    written('a crash', 'crashed', crashedText({ message, wasRunning: true })),
    written('a start that failed', 'crashed', crashedText({ message, wasRunning: false })),
    written('a test', 'test', testText('telegram-1')),
  ]
  return `${[...notices, ...incidents, ...own].join('\n\n')}\n`
}

test('every text equals the golden file', async () => {
  const golden = join(ROOT, 'test/support/golden/notify/texts.txt')
  await expect(everyText()).toMatchFileSnapshot(golden)
})

test('a text has one short subject, few lines, and no machine-readable values', () => {
  for (const observation of Object.values(NOTIFIED)) {
    for (const { text } of noticesOfAny(observation, CONTEXT)) {
      expect(text.subject.length, text.subject).toBeLessThan(110)
      expect(text.lines.length, text.subject).toBeLessThanOrEqual(5)
      const all = [text.subject, ...text.lines].join('\n')
      expect(all).not.toMatch(/\{|\}|undefined|null|NaN|\dT\d\d:|\[object/)
    }
  }
})

test('an address from an outside service does not reach a phone', () => {
  const all = JSON.stringify(
    Object.values(NOTIFIED).map((event) => noticesOfAny(event, CONTEXT).map(({ text }) => text)),
  )
  expect(all).not.toContain('evil.example')
})

const nameOf = (observation: (typeof SILENT)[number]): string =>
  isHappened(observation) ? observation.event.type : observation.type

test.each(SILENT.map((observation) => [nameOf(observation), observation] as const))(
  '%s causes no notification',
  (_, observation) => {
    expect(noticesOfAny(observation, CONTEXT)).toEqual([])
  },
)

test('every reason has its own text', () => {
  const reasons = [...FAILURE_REASONS, ...REFUSAL_REASONS, ...SKIP_REASONS]
  expect(reasons.filter((reason) => reasonText(reason) === reason)).toEqual([])
})

test('times follow the wall clock on both sides of a clock change', () => {
  const zone = 'Europe/Berlin'
  const before = Date.UTC(2027, 2, 28, 0, 59)
  expect(localTimeInZone(before, zone)).toBe('Sun 28 Mar, 01:59 (Europe/Berlin)')
  expect(localTimeInZone(before + 60_000, zone)).toBe('Sun 28 Mar, 03:00 (Europe/Berlin)')
  expect(localTimeInZone(before, 'UTC')).toBe('Sun 28 Mar, 00:59 (UTC)')
})

test.each([
  ['https://scan.example', `https://scan.example/tx/${HASH}`],
  ['https://scan.example/base/', `https://scan.example/base/tx/${HASH}`],
  ['https://user:secret@scan.example', undefined],
  ['https://scan.example/?key=secret', undefined],
  [undefined, undefined],
])('the transaction link for explorer %s is %s', (explorer, link) => {
  const [notice] = noticesOfAny(FILL, { ...CONTEXT, swapChain: { name: 'base', explorer } })
  expect(notice?.text.link).toBe(link)
})

import { spawnSync } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createOutbox } from '../../../../src/observe/notify/outbox.ts'
import {
  type OutboxFile,
  type OutboxLine,
  openOutboxFile,
  outboxFileOf,
} from '../../../../src/observe/notify/outbox-file.ts'
import { captureLog } from '../../../support/capture-log.ts'
import { MESSAGE } from '../../../support/notify/messages.ts'
import { temporaryDirectory } from '../../../support/state/state-directory.ts'

const TO = ['telegram-1']

async function rig(dir = temporaryDirectory(), mayWrite = (): boolean => true) {
  const captured = await captureLog()
  const open = (): Promise<OutboxFile> => openOutboxFile(dir, { log: captured.log, mayWrite })
  return { dir, open, captured, file: outboxFileOf(dir) }
}

function put(n: number): OutboxLine {
  return { put: { ...MESSAGE, id: `7-${n}` }, to: TO }
}

async function kept(file: OutboxFile, lines: readonly OutboxLine[]): Promise<void> {
  expect(await file.append(lines, 0, () => lines)).toBe(true)
  await file.close()
}

test('written lines are read again, in a file private to its owner', async () => {
  const { dir, open, file } = await rig()
  const lines: OutboxLine[] = [
    put(1),
    { end: '7-1', of: 'telegram-1' },
    { condition: { topic: 'halt', event: 'halted', sinceMs: 1, toldMs: 2, over: 'over' } },
    { over: 'halt' },
    { period: 'daily', untilSeconds: 3 },
    { taken: 4 },
  ]
  await kept(await open(), lines)
  const again = await open()
  expect(again.lines).toEqual(lines)
  await kept(again, [put(2)])
  expect((await open()).lines).toEqual([...lines, put(2)])
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(statSync(join(dir, 'outbox')).mode & 0o777).toBe(0o700)
})

test('an append cut by a crash is dropped, and the next append repairs the file', async () => {
  const { open, file, captured } = await rig()
  await kept(await open(), [put(1), put(2)])
  appendFileSync(file, '{"put":{"id":"7-3","event":"fil')
  const torn = await open()
  expect(torn.lines).toEqual([put(1), put(2)])
  const image = [put(1), put(2), put(4)]
  expect(await torn.append([put(4)], 0, () => image)).toBe(true)
  await torn.close()
  expect((await open()).lines).toEqual(image)
  expect(captured.lines()).toEqual([])
})

test.each([
  ['no JSON', 'hello'],
  ['a message without a subject', '{"put":{"id":"x"},"to":["a"]}'],
  ['an invalid receiver', JSON.stringify({ put: MESSAGE, to: [7] })],
  ['an invalid severity', JSON.stringify({ put: { ...MESSAGE, severity: 'loud' }, to: TO })],
  ['a condition without a time', '{"condition":{"topic":"halt","event":"halted"}}'],
  ['an invalid period', '{"period":"hourly","untilSeconds":1}'],
  ['an invalid number', '{"taken":"many"}'],
  ['null', 'null'],
])('a line with %s is dropped with a warning, and the others are read', async (_, line) => {
  const { open, file, captured } = await rig()
  await kept(await open(), [put(1), put(2)])
  const text = readFileSync(file, 'utf8').split('\n')
  writeFileSync(file, [...text.slice(0, 2), line, ...text.slice(2)].join('\n'))
  expect((await open()).lines).toEqual([put(1), put(2)])
  expect(captured.text()).toContain('1 lines could not be read and are left out')
})

test('an unreadable file is moved aside, and the daemon starts', async () => {
  const { open, file, captured } = await rig()
  mkdirSync(file, { recursive: true })
  const opened = await open()
  expect(opened.lines).toEqual([])
  expect(await opened.append([put(1)], 0, () => [put(1)])).toBe(true)
  await opened.close()
  expect(existsSync(`${file}.damaged`)).toBe(true)
  expect(captured.text()).toContain('messages that waited there are not sent')
})

test('a failing disk is logged once and then retried twice a minute', async () => {
  const { dir, open, captured } = await rig()
  const opened = await open()
  rmSync(join(dir, 'outbox'), { recursive: true })
  // No directory can be created where a file exists.
  writeFileSync(join(dir, 'outbox'), '')
  for (let nowMs = 0; nowMs < 60_000; nowMs += 1_000)
    expect(await opened.append([put(1)], nowMs, () => [put(1)])).toBe(false)
  const faults = captured.lines().filter(({ level }) => level === 'error')
  expect(faults.map(({ msg }) => msg)).toEqual([
    'the outbox cannot be written (EEXIST): messages are still sent, but those that wait when the daemon ends may be lost',
  ])
  rmSync(join(dir, 'outbox'))
  expect(await opened.append([put(2)], 100_000, () => [put(1), put(2)])).toBe(true)
  await opened.close()
  expect((await open()).lines).toEqual([put(1), put(2)])
  expect(captured.text()).toContain('the outbox can be written again')
})

test('the last attempt is made regardless of recent failures', async () => {
  const { dir, open } = await rig()
  const opened = await open()
  rmSync(join(dir, 'outbox'), { recursive: true })
  writeFileSync(join(dir, 'outbox'), '')
  expect(await opened.append([put(1)], 0, () => [put(1)])).toBe(false)
  rmSync(join(dir, 'outbox'))
  expect(await opened.append([put(2)], 10, () => [put(1), put(2)])).toBe(false)
  expect(await opened.append([], 10, () => [put(1), put(2)], 'last')).toBe(true)
  await opened.close()
  expect((await open()).lines).toEqual([put(1), put(2)])
})

test('a full disk keeps the waiting messages in the existing space', async ({ skip }) => {
  const dir = temporaryDirectory()
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k,mode=700', 'tmpfs', dir])
  if (mounted.status !== 0) return skip('no file system can be mounted here')
  onTestFinished(() => void spawnSync('umount', ['-l', dir]))
  const { open, captured } = await rig(dir)
  const many = Array.from({ length: 20 }, (_, n) => put(n))
  const opened = await open()
  expect(await opened.append(many, 0, () => many)).toBe(true)
  expect(() => {
    for (;;) appendFileSync(join(dir, 'filler'), Buffer.alloc(4_096))
  }).toThrow('ENOSPC')
  // Nineteen have been delivered since.
  const left = [put(19), { taken: 77 }]
  const ends = Array.from({ length: 19 }, (_, n) => ({ end: `7-${n}`, of: 'telegram-1' }))
  const padding = Array.from({ length: 200 }, () => ({ over: 'x'.repeat(100) }))
  expect(await opened.append([...ends, ...padding], 1, () => left)).toBe(true)
  await opened.close()
  expect((await open()).lines).toEqual(left)
  expect(captured.text()).toContain('the outbox cannot be written (ENOSPC)')
  expect(captured.text()).not.toContain('could not be read')
})

test('a superseded process writes nothing', async () => {
  let mayWrite = true
  const { open } = await rig(temporaryDirectory(), () => mayWrite)
  const first = await open()
  expect(await first.append([put(1)], 0, () => [put(1)])).toBe(true)
  mayWrite = false
  expect(await first.append([put(2)], 0, () => [put(1), put(2)])).toBe(false)
  await first.close()
  expect((await open()).lines).toEqual([put(1)])
})

test('a file made readable by others is private after the next full write', async () => {
  const { open, file } = await rig()
  await kept(await open(), [put(1)])
  chmodSync(file, 0o644)
  appendFileSync(file, 'torn')
  const opened = await open()
  await opened.append([put(2)], 0, () => [put(1), put(2)])
  await opened.close()
  expect(statSync(file).mode & 0o777).toBe(0o600)
})

test('the file stays small, however many messages pass through it', async () => {
  const { open, file } = await rig()
  const outboxFile = await open()
  const outbox = createOutbox({
    file: outboxFile,
    clock: { now: () => 0, sleep: () => new Promise(() => undefined) },
    receivers: TO,
    onChange: () => undefined,
    onDropped: () => undefined,
  })
  for (let n = 0; n < 3_000; n += 1) {
    outbox.put({ ...MESSAGE, id: `7-${n}` }, TO)
    outbox.take(n)
    if (n % 10 === 0) await outbox.commit()
    outbox.end('telegram-1', `7-${n}`)
  }
  await outbox.close()
  expect(statSync(file).size).toBeLessThan(300 * 1024)
  const last = (await open()).lines
  expect(last.at(-1)).toEqual({ taken: 2_999 })
})

test('an outbox closed before its first write leaves no file', async () => {
  const { open, file } = await rig()
  const opened = await open()
  await opened.close()
  expect(existsSync(file)).toBe(false)
})

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

test('what is written is read again, by its owner alone', async () => {
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

test('an append that a crash cut short is left out, and the file is whole again with the next', async () => {
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
  ['a receiver that is none', JSON.stringify({ put: MESSAGE, to: [7] })],
  ['a severity that is none', JSON.stringify({ put: { ...MESSAGE, severity: 'loud' }, to: TO })],
  ['a condition without a time', '{"condition":{"topic":"halt","event":"halted"}}'],
  ['a period that is none', '{"period":"hourly","untilSeconds":1}'],
  ['a number that is none', '{"taken":"many"}'],
  ['nothing', 'null'],
])('a line with %s is left out and told, and the others are read', async (_, line) => {
  const { open, file, captured } = await rig()
  await kept(await open(), [put(1), put(2)])
  const text = readFileSync(file, 'utf8').split('\n')
  writeFileSync(file, [...text.slice(0, 2), line, ...text.slice(2)].join('\n'))
  expect((await open()).lines).toEqual([put(1), put(2)])
  expect(captured.text()).toContain('1 lines could not be read and are left out')
})

test('a file that cannot be read at all is moved aside, and a daemon starts all the same', async () => {
  const { open, file, captured } = await rig()
  mkdirSync(file, { recursive: true })
  const opened = await open()
  expect(opened.lines).toEqual([])
  expect(await opened.append([put(1)], 0, () => [put(1)])).toBe(true)
  await opened.close()
  expect(existsSync(`${file}.damaged`)).toBe(true)
  expect(captured.text()).toContain('messages that waited there are not sent')
})

test('a disk that takes nothing is told once, and then tried twice a minute', async () => {
  const { dir, open, captured } = await rig()
  const opened = await open()
  rmSync(join(dir, 'outbox'), { recursive: true })
  // Nobody can make a directory where there is a file.
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

test('the last try is made however short before the disk took nothing', async () => {
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

test('on a full disk it says in the room that it has what still waits', async ({ skip }) => {
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
  // Nineteen have arrived since.
  const left = [put(19), { taken: 77 }]
  const ends = Array.from({ length: 19 }, (_, n) => ({ end: `7-${n}`, of: 'telegram-1' }))
  const padding = Array.from({ length: 200 }, () => ({ over: 'x'.repeat(100) }))
  expect(await opened.append([...ends, ...padding], 1, () => left)).toBe(true)
  await opened.close()
  expect((await open()).lines).toEqual(left)
  expect(captured.text()).toContain('the outbox cannot be written (ENOSPC)')
  expect(captured.text()).not.toContain('could not be read')
})

test('a process that was overtaken writes nothing', async () => {
  let mayWrite = true
  const { open } = await rig(temporaryDirectory(), () => mayWrite)
  const first = await open()
  expect(await first.append([put(1)], 0, () => [put(1)])).toBe(true)
  mayWrite = false
  expect(await first.append([put(2)], 0, () => [put(1), put(2)])).toBe(false)
  await first.close()
  expect((await open()).lines).toEqual([put(1)])
})

test('a file that was made readable by others before is not by the next whole write', async () => {
  const { open, file } = await rig()
  await kept(await open(), [put(1)])
  chmodSync(file, 0o644)
  appendFileSync(file, 'torn')
  const opened = await open()
  await opened.append([put(2)], 0, () => [put(1), put(2)])
  await opened.close()
  expect(statSync(file).mode & 0o777).toBe(0o600)
})

test('the file stays small however much passes through it', async () => {
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

test('an outbox that is closed before it was ever written leaves nothing behind', async () => {
  const { open, file } = await rig()
  const opened = await open()
  await opened.close()
  expect(existsSync(file)).toBe(false)
})

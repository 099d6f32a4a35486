import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { StateCorruptError, WrongStateError } from '../../../src/domain/errors.ts'
import type { Hex } from '../../../src/domain/money/units.ts'
import type { JournalEvent } from '../../../src/journal/events/registry.ts'
import { imageOf, type StateImage } from '../../../src/journal/state/state-image.ts'
import { deriveJournalKey, type JournalKey } from '../../../src/signing/keys/journal-key.ts'
import { encodeRecords, type JournalHead } from '../../../src/store/file/journal-codec.ts'
import type { OpenedJournal } from '../../../src/store/file/journal-file.ts'
import { readJournal } from '../../../src/store/file/journal-snapshot.ts'
import { SnapshotFile } from '../../../src/store/file/snapshot.ts'
import {
  BOUND,
  filledSlot,
  intentOf,
  opened,
  scheduled,
} from '../../support/state/journal-events.ts'
import {
  collect,
  openForTest,
  segmentOf,
  temporaryDirectory,
} from '../../support/state/state-directory.ts'

const KEY = deriveJournalKey(new Uint8Array(32).fill(7))
const OTHER = deriveJournalKey(new Uint8Array(32).fill(8))
const OWN: JournalEvent = { ...BOUND, mode: 'live', owner: KEY.address }

let dir = ''
const open = (key: JournalKey | undefined = KEY): Promise<OpenedJournal> =>
  openForTest(dir, { key })
const snapshotFile = (): string => join(dir, 'state.json')
const lines = (): string[] => readFileSync(segmentOf(dir), 'utf8').split('\n').slice(0, -1)
const rewrite = (texts: readonly string[]): void =>
  writeFileSync(segmentOf(dir), texts.map((line) => `${line}\n`).join(''))

beforeEach(async () => {
  dir = temporaryDirectory()
  const { journal, close } = await open()
  await journal.append(OWN, scheduled())
  for (const event of filledSlot(2_000)) await journal.append(event)
  await close()
})

function head(): JournalHead {
  const { seq, hash } = JSON.parse(lines().at(-1) ?? '{}') as { seq: number; hash: Hex }
  return { seq, hash }
}

/** Appends a line as an attacker would who can write the directory and has another key or none. */
function forge(key?: JournalKey): void {
  const event = opened(intentOf(3_000))
  appendFileSync(segmentOf(dir), encodeRecords(head(), [event], 1_800_000_000_000, key).text)
}

async function refusal(key: JournalKey | undefined = KEY): Promise<StateCorruptError> {
  const before = [segmentOf(dir), snapshotFile()].map((file) => readFileSync(file, 'utf8'))
  const error = await open(key).then(
    () => undefined,
    (reason: unknown) => reason,
  )
  expect([segmentOf(dir), snapshotFile()].map((file) => readFileSync(file, 'utf8'))).toEqual(before)
  if (!(error instanceof StateCorruptError)) throw new Error(`opened or failed otherwise: ${error}`)
  return error
}

describe('a journal with the key of its wallet', () => {
  test('has a MAC on every line and on its snapshot, and can be reopened', async () => {
    expect(lines().filter((line) => /,"mac":"[0-9a-f]{64}"\}$/.test(line))).toHaveLength(8)
    expect(readFileSync(snapshotFile(), 'utf8')).toMatch(/,"mac":"[0-9a-f]{64}"\}\n$/)
    const { journal, warnings } = await open()
    expect(warnings).toEqual([])
    await journal.append(opened(intentOf(3_000)))
    expect(await collect(journal.records())).toHaveLength(9)
  })

  test('is read by commands without the key, which check its structure', async () => {
    expect((await readJournal(dir)).state.intents.size).toBe(0)
  })

  test.each([
    ['no MAC', undefined, 'it carries no MAC'],
    ["another wallet's MAC", OTHER, "its MAC is not by this wallet's key"],
  ])('rejects an appended line with a valid hash chain and %s', async (_, key, detail) => {
    forge(key)
    const { file, message, remedy } = await refusal()
    expect(file).toBe(segmentOf(dir))
    expect(message).toContain(`line 9 was not written by this wallet's daemon: ${detail}`)
    expect(remedy).toContain('Nothing of it was acted on')
  })

  test('reveals a line without a MAC among others even without the key', async () => {
    forge()
    await expect(readJournal(dir)).rejects.toThrow(
      /line 9 was not written by this wallet's daemon: it carries no MAC, and what was written before does/,
    )
  })

  test('rejects a line with the MAC of another line', async () => {
    const [first = '', second = '', ...rest] = lines()
    const macOf = (line: string): string => line.slice(-66, -2)
    rewrite([first, second.replace(macOf(second), macOf(first)), ...rest])
    expect((await refusal()).message).toContain('line 2 was not written by this wallet')
  })

  test('rejects a journal and snapshot stripped of every MAC', async () => {
    rewrite(lines().map((line) => line.replace(/,"mac":"[0-9a-f]{64}"/, '')))
    const text = readFileSync(snapshotFile(), 'utf8')
    writeFileSync(snapshotFile(), text.replace(/,"mac":"[0-9a-f]{64}"/, ''))
    const { file, message } = await refusal()
    expect(file).toBe(snapshotFile())
    expect(message).toContain("line 1 was not written by this wallet's daemon: it carries no MAC")
  })
})

describe('a forged snapshot', () => {
  /** The journal's own state with a part removed, sealed as the daemon seals it. */
  async function forgeSnapshot(key?: JournalKey): Promise<void> {
    const { state } = await readJournal(dir)
    state.exposures.clear()
    state.spent.clear()
    await new SnapshotFile(snapshotFile(), key).write({
      ...head(),
      atMs: 1,
      state: imageOf(state),
    })
  }

  test.each([
    ['without a MAC', undefined, 'it carries no MAC'],
    ["with another wallet's", OTHER, "its MAC is not by this wallet's key"],
  ])(
    '%s is rejected, with advice to rebuild it, not to restore a backup',
    async (_, key, detail) => {
      await forgeSnapshot(key)
      const { file, message, remedy } = await refusal()
      expect(file).toBe(snapshotFile())
      expect(message).toContain(`line 1 was not written by this wallet's daemon: ${detail}`)
      expect(remedy).toContain('`tranched state rebuild`')
      expect(remedy).toContain('bring back no backup')
    },
  )
})

test('a snapshot of an older version with fewer fields is rebuilt, and still proves the length of the journal', async () => {
  const { state } = await readJournal(dir)
  const { deposits: _, ...fewer } = imageOf(state)
  const older = { ...head(), atMs: 1, state: fewer as StateImage }
  await new SnapshotFile(snapshotFile(), KEY).write(older)
  expect((await readJournal(dir)).state).toEqual(state)
  const whole = lines()
  rewrite(whole.slice(0, -1))
  expect((await refusal()).message).toContain(
    'it ends after record 7, but state.json goes up to record 8',
  )
  rewrite(whole)
  const { journal, warnings } = await open()
  expect(warnings).toEqual([expect.stringContaining('another version made it, without deposits')])
  expect(journal.state).toEqual(state)
})

describe('a process that opens a journal for writing', () => {
  test('needs the key of its wallet, and the error names that wallet', async () => {
    const error = await open(OTHER).catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(WrongStateError)
    expect(String(error)).toContain(
      `belongs to wallet ${KEY.address}, the config names ${OTHER.address}`,
    )
  })

  test('without a key is refused, so unsigned lines never mix with signed lines', async () => {
    const before = lines()
    const error = await openForTest(dir).catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(WrongStateError)
    expect(String(error)).toContain('belongs to a daemon in mode live')
    expect(lines()).toEqual(before)
  })

  test('with a key refuses the journal of a dry run', async () => {
    const dry = temporaryDirectory()
    const { journal, close } = await openForTest(dry)
    await journal.append({ ...BOUND, mode: 'dry-run', owner: KEY.address })
    await close()
    await expect(openForTest(dry, { key: KEY })).rejects.toThrow(
      /belongs to a daemon in mode dry-run/,
    )
  })

  test('rebuilds a damaged snapshot only from its own records', async () => {
    writeFileSync(snapshotFile(), '')
    const whole = (await readJournal(dir)).state
    const { journal, warnings, close } = await open()
    expect(warnings).toEqual([expect.stringContaining('which proves whole (8 records)')])
    expect(journal.state).toEqual(whole)
    await close()
    forge(OTHER)
    writeFileSync(snapshotFile(), '')
    expect((await refusal()).message).toContain(
      'the journal does not prove whole: ' +
        `${segmentOf(dir)}: line 9 was not written by this wallet's daemon`,
    )
  })
})

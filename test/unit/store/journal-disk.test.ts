import { describe, expect, test } from 'vitest'
import { type CommitFile, GroupCommit, openLogFile } from '../../../src/store/file/group-commit.ts'
import { GENESIS } from '../../../src/store/file/journal-codec.ts'
import { openJournal } from '../../../src/store/file/journal-file.ts'
import { scheduled } from '../../support/state/journal-events.ts'
import { temporaryDirectory } from '../../support/state/state-directory.ts'
import { waitFor } from '../../support/wait-for.ts'

type Log = {
  append(text: string, records: number): Promise<void>
  note(text: string): Promise<void>
  close(): Promise<void>
}

type Disk = CommitFile & {
  readonly bytes: () => number
  readonly written: () => string
  readonly syncs: () => number
  release(): void
}

/** An in-memory disk. Each write takes at most `takes` bytes; `fault` may throw at a write or a sync. */
function memoryDisk(
  options: { takes?: number; held?: boolean; fault?: (call: string, written: number) => void } = {},
): Disk {
  let text = ''
  let syncs = 0
  let bytes = 0
  let release = () => {}
  const gate = options.held ? new Promise<void>((resolve) => (release = resolve)) : undefined
  return {
    write: async (data, offset) => {
      options.fault?.('write', text.length)
      const part = data.subarray(offset, offset + (options.takes ?? data.length))
      text += Buffer.from(part).toString()
      return part.length
    },
    datasync: async () => {
      await gate
      options.fault?.('datasync', text.length)
      syncs += 1
    },
    close: async () => {},
    prepare: async () => {},
    settled: (flushed) => {
      bytes += flushed.bytes
    },
    bytes: () => bytes,
    written: () => text,
    syncs: () => syncs,
    release: () => release(),
  }
}

function noSpace(): never {
  throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
}

function commitTo(file: CommitFile): { log: Log; fatal: Error[]; commits: number[] } {
  const fatal: Error[] = []
  const commits: number[] = []
  const commit = new GroupCommit({
    name: 'journal',
    file,
    onCommit: ({ records }) => commits.push(records),
    onFatal: (error) => fatal.push(error),
  })
  const log = {
    append: (text: string, records: number) => {
      const written = commit.append(text, records, GENESIS)
      commit.flush()
      return written
    },
    note: (text: string) => {
      const written = commit.append(text, 1, GENESIS)
      commit.flushSoon()
      return written
    },
    close: () => commit.close(),
  }
  return { log, fatal, commits }
}

describe('group commit', () => {
  test('resolves an append only after it is synced', async () => {
    const disk = memoryDisk({ held: true })
    const { log } = commitTo(disk)
    let done = false
    const written = log.append('a\n', 1).then(() => {
      done = true
    })
    await waitFor('the write', () => disk.written(), 'a\n')
    expect({ done, text: disk.written(), bytes: disk.bytes() }).toEqual({
      done: false,
      text: 'a\n',
      bytes: 0,
    })
    disk.release()
    await written
    expect({ done, bytes: disk.bytes() }).toEqual({ done: true, bytes: 2 })
  })

  test('writes all appends that arrive during a flush with the next flush', async () => {
    const disk = memoryDisk({ held: true })
    const { log, commits } = commitTo(disk)
    const first = log.append('a\n', 1)
    await waitFor('the write', () => disk.written(), 'a\n')
    const others = ['b\n', 'c\n', 'd\n'].map((text) => log.append(text, 1))
    disk.release()
    await Promise.all([first, ...others])
    expect(disk.written()).toBe('a\nb\nc\nd\n')
    expect(disk.syncs()).toBe(2)
    await log.close()
    expect(commits).toEqual([1, 3])
  })

  test('writes a note with the append that follows it', async () => {
    const disk = memoryDisk()
    const { log, commits } = commitTo(disk)
    await Promise.all([log.note('a\n'), log.append('b\n', 1)])
    expect(disk.written()).toBe('a\nb\n')
    expect(commits).toEqual([2])
  })

  test('writes a note that no append follows, and one that a close follows', async () => {
    const disk = memoryDisk()
    const { log } = commitTo(disk)
    await log.note('a\n')
    expect(disk.written()).toBe('a\n')
    const last = log.note('b\n')
    await log.close()
    await last
    expect(disk.written()).toBe('a\nb\n')
  })

  test('continues where a short write stopped', async () => {
    const disk = memoryDisk({ takes: 3 })
    const { log } = commitTo(disk)
    await log.append('0123456789 abc\n', 1)
    expect(disk.written()).toBe('0123456789 abc\n')
    expect(disk.bytes()).toBe(15)
  })

  test('fails on a disk that accepts no bytes', async () => {
    const { log } = commitTo(memoryDisk({ takes: 0 }))
    await expect(log.append('a\n', 1)).rejects.toThrow('the disk takes no more bytes')
  })

  test.each(['write', 'datasync'])('ends permanently at the first failing %s', async (failing) => {
    let calls = 0
    const disk = memoryDisk({
      fault: (call) => {
        calls += 1
        if (call === failing) noSpace()
      },
    })
    const { log, fatal } = commitTo(disk)
    const results = await Promise.allSettled([log.append('a\n', 1), log.append('b\n', 1)])
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    const callsThen = calls
    await expect(log.append('c\n', 1)).rejects.toThrow(/journal: the disk is full \(ENOSPC/)
    expect(calls).toBe(callsThen)
    expect(fatal).toHaveLength(1)
  })

  test('rejects appends queued behind a failed flush', async () => {
    let failing = false
    const disk = memoryDisk({
      held: true,
      fault: (call) => {
        if (failing && call === 'datasync') noSpace()
      },
    })
    const { log, fatal } = commitTo(disk)
    const first = log.append('a\n', 1)
    await waitFor('the write', () => disk.written(), 'a\n')
    const second = log.append('b\n', 1)
    failing = true
    disk.release()
    const results = await Promise.allSettled([first, second])
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    expect(disk.written()).toBe('a\n')
    expect(fatal).toHaveLength(1)
  })

  test('flushes queued appends before it closes, and reports a disk that fails then', async () => {
    const { log, fatal } = commitTo(memoryDisk({ fault: () => noSpace() }))
    const written = log.append('a\n', 1)
    const closed = log.close()
    await expect(written).rejects.toThrow('ENOSPC')
    await closed
    expect(fatal).toHaveLength(1)
  })
})

test('a journal on a full disk calls onFatal once, applies no more events and takes no snapshot', async () => {
  const fatal: Error[] = []
  const { journal, close } = await openJournal({
    dir: temporaryDirectory(),
    clock: { now: () => 1 },
    snapshotEvery: 1,
    onFatal: (error) => fatal.push(error),
    openLog: async (file) => ({ ...(await openLogFile(file)), write: async () => noSpace() }),
  })
  await expect(journal.append(scheduled('a'))).rejects.toThrow('ENOSPC')
  await expect(journal.append(scheduled('b'))).rejects.toThrow('ENOSPC')
  await close()
  expect([...journal.state.strategies.keys()]).toEqual(['a'])
  expect(fatal).toHaveLength(1)
})

import { spawnSync } from 'node:child_process'
import {
  closeSync,
  cpSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Anchor } from '../../../src/journal/anchor.ts'
import { StateAnchors } from '../../../src/store/anchor/anchor.ts'
import {
  type AnchorPlace,
  createAnchor,
  openAnchor,
  readAnchor,
  replaceAnchor,
} from '../../../src/store/anchor/anchor-file.ts'
import { notWritable } from '../../../src/store/anchor/anchor-messages.ts'
import { openLogFile } from '../../../src/store/file/group-commit.ts'
import type { OpenedJournal } from '../../../src/store/file/journal-file.ts'
import { severJournal } from '../../../src/store/file/journal-recovery.ts'
import { readJournal } from '../../../src/store/file/journal-snapshot.ts'
import {
  BOUND,
  bytes32,
  exposed,
  intentOf,
  OWNER,
  opened,
  scheduled,
} from '../../support/state/journal-events.ts'
import {
  collect,
  openForTest,
  segmentOf,
  temporaryDirectory,
} from '../../support/state/state-directory.ts'

const CLOCK = { now: () => 1_800_000_000_000 }
const SLOT_BYTES = 4_096

/** A state directory and the anchor of its wallet next to it. */
function paths() {
  const base = temporaryDirectory()
  const stateDir = join(base, 'state')
  const file = join(base, 'trader.anchor')
  const trader: AnchorPlace = { name: 'trader', file, wallet: OWNER, chainId: BOUND.chainId }
  return { base, stateDir, file, trader }
}

type Paths = ReturnType<typeof paths>

type Started = OpenedJournal & { readonly anchors: StateAnchors; readonly faults: Error[] }

/** Starts like a live daemon, up to the point where it may sign. */
async function start(at: Paths, openLog = openLogFile): Promise<Started> {
  const started = await begin(at, openLog)
  await started.anchors.keep(started.journal)
  return started
}

/** Starts like a live daemon, as far as possible without the chain. */
async function begin({ stateDir, trader }: Paths, openLog = openLogFile): Promise<Started> {
  const anchors = await StateAnchors.read({ stateDir, trader, operator: undefined, clock: CLOCK })
  const faults: Error[] = []
  const journal = await openForTest(stateDir, {
    openLog,
    onFatal: (error) => faults.push(error),
    fence: {
      beforeFlush: () => undefined,
      afterFlush: (head, events) => anchors.afterFlush(head, events),
      positions: anchors.positions,
      admit: (found) => anchors.admit(found),
    },
  })
  onTestFinished(() => anchors.close())
  if (journal.journal.state.bound === undefined) await journal.journal.append(BOUND)
  return { ...journal, anchors, faults }
}

const SLOT = intentOf(2_000)

/** Opens a slot and records a permit for it. */
async function authorize({ journal }: OpenedJournal): Promise<void> {
  if (!journal.state.strategies.has(SLOT.strategy)) await journal.append(scheduled(SLOT.strategy))
  await journal.append(opened(SLOT))
  await journal.append(exposed(SLOT, 1))
}

const SOME: Anchor = {
  wallet: OWNER,
  chainId: 8453,
  genesisHash: bytes32(1),
  stateId: 'ab',
  stateDir: '/data',
  position: { seq: 1, hash: bytes32(2) },
  atMs: 5,
}

describe('an anchor', () => {
  test('is created private at the first start, names the state, and is at the last permit when its append resolves', async () => {
    const at = paths()
    const daemon = await start(at)
    expect(statSync(at.file).mode & 0o777).toBe(0o600)
    const { state } = daemon.journal
    expect(state.anchored).toEqual(new Map([[OWNER, BOUND.chainId]]))
    await authorize(daemon)
    const records = await collect(daemon.journal.records())
    const { seq, hash } = records.at(-1) ?? { seq: 0, hash: '0x' }
    expect(await readAnchor(at.file)).toMatchObject({
      wallet: OWNER,
      genesisHash: BOUND.genesisHash,
      stateId: state.stateId,
      stateDir: at.stateDir,
      position: { seq, hash },
    })
    await daemon.journal.append({
      type: 'order-accepted',
      intentId: SLOT.id,
      attempt: 1,
      orderId: 'x',
    })
    expect((await readAnchor(at.file))?.position.seq).toBe(seq)
  })

  test('follows the journal and never precedes it', async () => {
    const at = paths()
    let isHeld = false
    let release = (): void => undefined
    const daemon = await start(at, async (file) => {
      const log = await openLogFile(file)
      const write: typeof log.write = async (data, offset) => {
        if (isHeld) await new Promise<void>((resolve) => (release = resolve))
        return log.write(data, offset)
      }
      return { ...log, write }
    })
    await daemon.journal.append(scheduled(SLOT.strategy), opened(SLOT))
    const before = await readAnchor(at.file)
    isHeld = true
    const appended = daemon.journal.append(exposed(SLOT, 1))
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(await readAnchor(at.file)).toEqual(before)
    isHeld = false
    release()
    await appended
    expect((await readAnchor(at.file))?.position.seq).toBeGreaterThan(before?.position.seq ?? 0)
  })

  test('reaches a permit recorded during a write for another permit', async () => {
    const at = paths()
    const { anchors } = await start(at)
    const recorded = (seq: number) =>
      anchors.afterFlush({ seq, hash: bytes32(seq) }, [exposed(SLOT, 1)])
    const first = recorded(50)?.()
    const second = recorded(51)
    await first
    await second?.()
    expect((await readAnchor(at.file))?.position.seq).toBe(51)
  })

  test('whose newest slot was torn by a power cut still holds the previous slot', async () => {
    const { file } = paths()
    await createAnchor(file, SOME)
    const open = await openAnchor(file)
    for (let seq = 2; seq <= 5; seq += 1)
      await open.write({ ...SOME, position: { seq, hash: bytes32(seq) } })
    await open.close()
    expect((await readAnchor(file))?.position.seq).toBe(5)
    const whole = readFileSync(file, 'latin1')
    const newest = whole.indexOf('"seq":5') < SLOT_BYTES ? 0 : SLOT_BYTES
    for (const kept of [0, 1, 100, 300]) {
      const torn = Buffer.from(whole, 'latin1').fill(0, newest + kept, newest + SLOT_BYTES)
      writeFileSync(file, torn)
      expect((await readAnchor(file))?.position.seq).toBe(4)
    }
    writeFileSync(file, '')
    await expect(readAnchor(file)).rejects.toThrow(/no part of it is whole/)
  })

  test('is created at the next start if the first start was interrupted before it', async () => {
    const at = paths()
    const first = await openForTest(at.stateDir)
    await first.journal.append(BOUND)
    await first.journal.append({ type: 'state-named', stateId: 'cut short' })
    await first.close()
    const daemon = await start(at)
    expect(daemon.journal.state.stateId).toBe('cut short')
    expect((await readAnchor(at.file))?.stateId).toBe('cut short')
    await daemon.close()
    // The same if the journal does not yet record its creation.
    rmSync(join(at.stateDir, 'journal'), { recursive: true })
    rmSync(join(at.stateDir, 'state.json'))
    const again = await openForTest(at.stateDir)
    await again.journal.append(BOUND, { type: 'state-named', stateId: 'cut short' })
    await again.close()
    rmSync(at.file)
    const view = await readJournal(at.stateDir, [2])
    const position = { seq: 2, hash: view.head.hash }
    const anchor = { ...SOME, genesisHash: BOUND.genesisHash, stateId: 'cut short', position }
    await createAnchor(at.file, anchor)
    const last = await start(at)
    expect(last.journal.state.anchored.has(OWNER)).toBe(true)
  })

  test('is created for the state of an older version', async () => {
    const at = paths()
    const older = await openForTest(at.stateDir)
    await older.journal.append(BOUND, scheduled(SLOT.strategy), opened(SLOT), exposed(SLOT, 1))
    await older.close()
    await start(at)
    expect((await readAnchor(at.file))?.position.seq).toBeGreaterThanOrEqual(4)
  })

  test('that is removed or replaced ends the journal before anything can be signed', async () => {
    for (const damage of [
      (file: string) => rmSync(file),
      (file: string) => {
        const text = readFileSync(file)
        rmSync(file)
        writeFileSync(`${file}.hold`, '')
        writeFileSync(file, text)
      },
    ]) {
      const at = paths()
      const daemon = await start(at)
      expect(daemon.anchors.lost()).toBeUndefined()
      damage(at.file)
      await expect(authorize(daemon)).rejects.toThrow(/was removed or given to another state/)
      expect(daemon.anchors.lost()).toMatch(/was removed or given to another state/)
      expect(daemon.anchors.fault).toBe(daemon.anchors.lost())
      expect(daemon.faults).toHaveLength(1)
    }
  })

  test('that another daemon has advanced since it was read is refused to a copy of the state', async () => {
    const at = paths()
    const first = await start(at)
    const copy = { ...at, stateDir: join(at.base, 'copy') }
    cpSync(at.stateDir, copy.stateDir, { recursive: true })
    const second = await begin(copy)
    await authorize(first)
    await expect(second.anchors.keep(second.journal)).rejects.toThrow(/changed while this daemon/)
    expect(first.anchors.lost()).toBeUndefined()
    expect(second.anchors.lost()).toBeDefined()
  })

  test('in an unwritable location fails the start, and the error names the config key for another path', async () => {
    const at = paths()
    writeFileSync(join(at.base, 'file'), '')
    const trader = { ...at.trader, file: join(at.base, 'file/trader.anchor') }
    await expect(start({ ...at, trader })).rejects.toThrow(/`stateAnchor` in the config/)
  })

  test('on a full disk fails the start with a disk error, not a permission error', async ({
    skip,
  }) => {
    const at = paths()
    const disk = join(at.base, 'disk')
    mkdirSync(disk)
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=16k,mode=700', 'tmpfs', disk])
    if (mounted.status !== 0) return skip('no file system can be mounted here')
    onTestFinished(() => void spawnSync('umount', ['-l', disk]))
    expect(() => writeFileSync(join(disk, 'filler'), Buffer.alloc(64 * 1024))).toThrow('ENOSPC')
    const trader = { ...at.trader, file: join(disk, 'trader.anchor') }
    await expect(start({ ...at, trader })).rejects.toMatchObject({
      // A supervisor retries: the files are in order.
      means: 'failed',
      message: expect.stringMatching(
        `^${trader.file}: the anchor of wallet trader cannot be written: the disk is full \\(ENOSPC.*\\)\\. Make room on the file system of ${disk} \\(df -h ${disk}\\), then start again$`,
      ),
    })
  })

  test.each([
    ['EDQUOT', /the disk is full \(EDQUOT: x\)\. Make room on the file system of \/keys /],
    ['EROFS', /Repair the file system of \/keys, or mount it writable/],
    ['EIO', /Repair the file system of \/keys, or mount it writable/],
    ['EISDIR', /this is not a regular file\. Put what is there aside/],
    ['ENOTREG', /this is not a regular file\. Put what is there aside/],
    ['EACCES', /correct the rights, or say another place with `stateAnchor`/],
  ])('that cannot be written names the remedy for %s', (code, says) => {
    const location = { ...paths().trader, file: '/keys/trader.anchor' }
    const error = Object.assign(new Error(`${code}: x`), { code })
    expect(notWritable(location, error)).toMatch(says)
  })

  test("of the trader is reported at every start, even if the operator's anchor cannot be written either", async () => {
    const at = paths()
    writeFileSync(join(at.base, 'file'), '')
    const trader = { ...at.trader, file: join(at.base, 'file/trader.anchor') }
    const operator = { ...at.trader, name: 'operator', file: join(at.base, 'file/operator.anchor') }
    for (let starts = 0; starts < 300; starts += 1)
      await expect(
        StateAnchors.read({ stateDir: at.stateDir, trader, operator, clock: CLOCK }),
      ).rejects.toThrow(/the anchor of wallet trader cannot be/)
  })

  test('blocks every signature until it is created, without a fault', async () => {
    const at = paths()
    const { stateDir, trader } = at
    const anchors = await StateAnchors.read({ stateDir, trader, operator: undefined, clock: CLOCK })
    expect(anchors.lost()).toBe('the anchor of the state is not made yet')
    expect(anchors.fault).toBeUndefined()
  })

  test('is at the last record of each wallet after a shared write', async () => {
    const at = paths()
    const operator: AnchorPlace = {
      name: 'operator',
      file: join(at.base, 'operator.anchor'),
      wallet: `0x${'77'.repeat(20)}`,
      chainId: 1,
    }
    const { stateDir, trader } = at
    const anchors = await StateAnchors.read({ stateDir, trader, operator, clock: CLOCK })
    const { journal } = await openForTest(stateDir, {
      fence: {
        beforeFlush: () => undefined,
        afterFlush: (head, events) => anchors.afterFlush(head, events),
      },
    })
    onTestFinished(() => anchors.close())
    await journal.append(BOUND, scheduled(SLOT.strategy), opened(SLOT))
    await anchors.keep(journal)
    const transaction = {
      id: 'deposit:a:1',
      purpose: 'deposit',
      intentId: undefined,
      chainId: 1,
      from: operator.wallet,
      nonce: 0,
      to: OWNER,
      data: '0x',
      value: 1n,
      gas: 1n,
      maxFeePerGas: 1n,
      maxPriorityFeePerGas: 1n,
      hash: bytes32(9),
    } as const
    await Promise.all([
      journal.append({ type: 'transaction-recorded', transaction }),
      journal.append(exposed(SLOT, 1)),
    ])
    const head = (await collect(journal.records())).at(-1)?.seq
    expect((await readAnchor(trader.file))?.position.seq).toBe(head)
    expect((await readAnchor(operator.file))?.position.seq).toBe(head)
  })
})

describe('an anchor whose record is in an older journal file', () => {
  /** A state whose permit is in the first of several files, with a later snapshot. */
  async function grown(): Promise<{ readonly at: Paths; readonly first: string }> {
    const at = paths()
    const daemon = await start(at)
    await authorize(daemon)
    await daemon.close()
    for (const name of ['a', 'b', 'c']) {
      const more = await openForTest(at.stateDir, { segmentBytes: 1 })
      await more.journal.append(scheduled(name))
      await more.close()
    }
    return { at, first: segmentOf(at.stateDir) }
  }

  test('is verified along the hash chain', async () => {
    const { at } = await grown()
    const position = (await readAnchor(at.file))?.position
    const view = await readJournal(at.stateDir, [position?.seq ?? 0])
    expect(view.hashes.get(position?.seq ?? 0)).toBe(position?.hash)
    expect(view.provenFrom).toBe(1)
    expect((await start(at)).warnings).toEqual([])
  })

  test('is refused if that file holds another record', async () => {
    const { at } = await grown()
    const anchor = await readAnchor(at.file)
    if (anchor === undefined) throw new Error('no anchor')
    await replaceAnchor(at.file, { ...anchor, position: { ...anchor.position, hash: bytes32(3) } })
    await expect(start(at)).rejects.toThrow(/this is another course of the state/)
  })

  test('is checked only by length, with a warning, if that file was archived', async () => {
    const { at, first } = await grown()
    const seq = (await readAnchor(at.file))?.position.seq
    renameSync(first, join(at.base, 'archived.jsonl'))
    const { warnings, close } = await start(at)
    expect(warnings).toEqual([
      expect.stringContaining(
        `record ${seq}, up to which an anchor says that this state was signed`,
      ),
    ])
    await close()
  })

  test('is refused if that file is truncated', async () => {
    const { at, first } = await grown()
    truncateSync(first, statSync(first).size - 1)
    await expect(start(at)).rejects.toThrow(/it ends in the middle of the append/)
  })
})

describe('a journal whose lock is lost', () => {
  test('writes nothing more, not even its snapshot, and stays closed', async () => {
    const dir = temporaryDirectory()
    let isHeld = true
    const faults: Error[] = []
    const earlier = await openForTest(dir)
    await earlier.journal.append(scheduled('a'), scheduled('b'))
    await earlier.close()
    const { journal, close } = await openForTest(dir, {
      onFatal: (error) => faults.push(error),
      fence: {
        beforeFlush() {
          if (!isHeld) throw new Error('the lock is lost')
        },
      },
    })
    const files = [segmentOf(dir), join(dir, 'state.json')]
    const before = files.map((file) => readFileSync(file, 'utf8'))
    isHeld = false
    await expect(journal.append(scheduled('c'))).rejects.toThrow(/the lock is lost/)
    isHeld = true
    await expect(journal.append(scheduled('d'))).rejects.toThrow(/the lock is lost/)
    await close()
    expect(files.map((file) => readFileSync(file, 'utf8'))).toEqual(before)
    expect(faults).toHaveLength(1)
  })
})

describe('a severed journal', () => {
  test('ignores pending writes of the overtaken daemon', async () => {
    const dir = temporaryDirectory()
    const overtaken = await openForTest(dir)
    await overtaken.journal.append(scheduled('a'))
    await overtaken.close()
    const file = segmentOf(dir)
    const late = openSync(file, 'a')
    const before = readFileSync(file, 'utf8')
    await severJournal(dir)
    writeSync(late, 'a line of the overtaken')
    closeSync(late)
    expect(readFileSync(file, 'utf8')).toBe(before)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    const successor = await openForTest(dir)
    expect(successor.warnings).toEqual([])
  })
})

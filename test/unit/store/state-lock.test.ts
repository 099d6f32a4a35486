import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  closeSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { StateLockedError } from '../../../src/domain/errors.ts'
import type { LockClaim } from '../../../src/store/lock/lock-claims.ts'
import { acquireLock, readLock } from '../../../src/store/lock/state-lock.ts'
import { childScript, killHard, messageFrom } from '../../support/process/child-script.ts'
import { temporaryDirectory } from '../../support/state/state-directory.ts'
import { WAIT_MS_MAX, waitFor } from '../../support/wait-for.ts'

const HOLDER = { pid: process.pid, command: 'tranched run', startedAtMs: 1_800_000_000_000 }
/** Stale time and heartbeat interval, both shorter than a daemon's. */
const SOON = { staleMs: 400, beatMs: 50 }
/** Another container, a recreated container, another machine, or another boot of this machine. */
const ELSEWHERE: readonly Partial<LockClaim>[] = [
  { namespace: 'pid:[4026532999]' },
  { machineId: 'f'.repeat(32) },
  { bootId: '00000000-0000-0000-0000-000000000000' },
]
const linux = process.platform === 'linux'

/** Leaves the claim of this process as if it were killed, with `change` applied. */
async function leaveClaim(dir: string, change: Partial<LockClaim>): Promise<void> {
  const lock = await acquireLock(dir, HOLDER)
  const text = readFileSync(join(dir, 'lock'), 'utf8')
  lock.release()
  const claim = { ...JSON.parse(text), ...change }
  writeFileSync(join(dir, 'lock'), `\n${JSON.stringify(claim)}\n`)
}

describe('the state lock', () => {
  test('is refused to a second process, with pid, host, time and command of the holder', async () => {
    const dir = temporaryDirectory()
    await acquireLock(dir, HOLDER)
    const refused = acquireLock(dir, { ...HOLDER, command: 'tranched trigger' })
    await expect(refused).rejects.toBeInstanceOf(StateLockedError)
    await expect(refused).rejects.toThrow(
      `${join(dir, 'lock')}: held by process ${process.pid} on ${hostname()} since ` +
        '2027-01-15T08:00:00.000Z (tranched run)',
    )
  })

  test('can be taken again after its release, and a second release is harmless', async () => {
    const dir = temporaryDirectory()
    const lock = await acquireLock(dir, HOLDER)
    lock.release()
    expect(readLock(dir)).toBeUndefined()
    const again = await acquireLock(dir, HOLDER)
    lock.release()
    expect(readLock(dir)?.pid).toBe(process.pid)
    again.release()
    expect(readLock(dir)).toBeUndefined()
  })

  test('of a later holder survives the release by a holder whose file an operator deleted', async () => {
    const dir = temporaryDirectory()
    const lock = await acquireLock(dir, HOLDER)
    rmSync(join(dir, 'lock'))
    await acquireLock(dir, { ...HOLDER, command: 'the later one' })
    lock.release()
    expect(readLock(dir)?.command).toBe('the later one')
  })

  test('creates the directory and a private file', async () => {
    const dir = join(temporaryDirectory(), 'state')
    await acquireLock(dir, HOLDER)
    expect(statSync(dir).mode & 0o777).toBe(0o700)
    expect(statSync(join(dir, 'lock')).mode & 0o777).toBe(0o600)
  })

  test('does not grow with refused attempts', async () => {
    const dir = temporaryDirectory()
    await acquireLock(dir, HOLDER)
    const before = statSync(join(dir, 'lock')).size
    await expect(acquireLock(dir, HOLDER)).rejects.toBeInstanceOf(StateLockedError)
    expect(statSync(join(dir, 'lock')).size).toBe(before)
  })

  test('is readable without taking it, and absent if no daemon ever ran', async () => {
    const dir = temporaryDirectory()
    expect(readLock(dir)).toBeUndefined()
    expect(readLock(join(dir, 'absent'))).toBeUndefined()
    await acquireLock(dir, HOLDER)
    expect(readLock(dir)).toMatchObject({ ...HOLDER, host: hostname() })
  })

  test('is taken from a process of another machine or container only after a wait, whatever the host name', async () => {
    for (const origin of ELSEWHERE) {
      const dir = temporaryDirectory()
      await leaveClaim(dir, { ...origin, pid: 2 ** 22 + 1 })
      const messages: string[] = []
      const lock = await acquireLock(dir, HOLDER, {
        ...SOON,
        onWait: (line) => messages.push(line),
      })
      expect(messages).toHaveLength(1)
      expect(messages[0]).toContain(
        `claimed by process ${2 ** 22 + 1} on ${hostname()} since 2027-`,
      )
      expect(lock.overtook).toBe(true)
      expect(lock.lost()).toBeUndefined()
      lock.release()
    }
  })

  test('is refused at the first heartbeat of a holder on another machine or container', async () => {
    const dir = temporaryDirectory()
    await leaveClaim(dir, { namespace: 'pid:[1]' })
    const file = join(dir, 'lock')
    const beating = setInterval(() => {
      writeFileSync(file, readFileSync(file, 'utf8').replace('0000000000', '0000000001'))
    }, 50)
    onTestFinished(() => clearInterval(beating))
    await expect(acquireLock(dir, HOLDER, { staleMs: 60_000 })).rejects.toThrow(
      new RegExp(`held by process ${process.pid} on .*its claim is kept fresh`),
    )
  })

  test("stays fresh while its holder's main thread is busy", async () => {
    const dir = temporaryDirectory()
    const lock = await acquireLock(dir, HOLDER, { staleMs: 60_000, beatMs: 30 })
    const beatOf = () => readLock(dir)?.beat
    // The heartbeat thread starts while the event loop runs; from here on the loop is blocked.
    await waitFor('the first beat', () => beatOf() !== '0000000000')
    const seen = new Set<string | undefined>()
    const untilMs = performance.now() + WAIT_MS_MAX
    while (seen.size < 7 && performance.now() < untilMs) seen.add(beatOf())
    expect(seen.size).toBe(7)
    lock.release()
  })

  test('is reported lost by a stopped and overtaken holder, which does not release it', async () => {
    const dir = temporaryDirectory()
    const stopped = await acquireLock(dir, HOLDER, { beatMs: 3_600_000 })
    // To other processes it belongs to an unreachable container.
    const file = join(dir, 'lock')
    const disguised = readFileSync(file, 'utf8').replace(
      /"pid:\[(\d+)\]/,
      (_, n: string) => `"pid:[${'9'.repeat(n.length)}]`,
    )
    const fd = openSync(file, 'r+')
    writeSync(fd, disguised, 0)
    closeSync(fd)
    expect(stopped.lostLately()).toBeUndefined()
    const successor = await acquireLock(dir, { ...HOLDER, command: 'the successor' }, SOON)
    const why = `another daemon has taken over the state directory (process ${process.pid} on ${hostname()} since 2027-01-15T08:00:00.000Z (the successor)): ${file}`
    expect(stopped.lostLately()).toBe(why)
    expect(stopped.lost()).toBe(why)
    stopped.release()
    expect(readLock(dir)?.command).toBe('the successor')
    expect(successor.lost()).toBeUndefined()
  })

  test('is lost if its file is removed or replaced', async () => {
    const dir = temporaryDirectory()
    const lock = await acquireLock(dir, HOLDER)
    const file = join(dir, 'lock')
    const copy = readFileSync(file)
    rmSync(file)
    expect(lock.lost()).toBe(`${file}: somebody has removed or replaced it`)
    writeFileSync(file, copy)
    expect(lock.lost()).toBe(`${file}: somebody has removed or replaced it`)
  })

  test('of a dead process on another machine goes to exactly one of 4 waiting processes', async () => {
    const dir = temporaryDirectory()
    await leaveClaim(dir, { bootId: 'other', pid: 1 })
    const answers = await Promise.allSettled(
      Array.from({ length: 4 }, () => acquireLock(dir, HOLDER, SOON)),
    )
    const won = answers.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
    expect(won).toHaveLength(1)
    expect(won[0]?.lost()).toBeUndefined()
  })

  test('is taken over if its process is gone', async () => {
    const dir = temporaryDirectory()
    await leaveClaim(dir, { pid: 2 ** 22 + 1 })
    await acquireLock(dir, HOLDER)
    expect(readLock(dir)?.pid).toBe(process.pid)
  })

  test.runIf(linux)('is taken over if its pid now belongs to a later process', async () => {
    const dir = temporaryDirectory()
    await leaveClaim(dir, { startTicks: '1' })
    expect(readLock(dir)).toBeUndefined()
    await acquireLock(dir, HOLDER)
  })

  test.runIf(linux)('is taken over from a zombie process', async () => {
    const dir = temporaryDirectory()
    const parent = spawn('sh', ['-c', 'sleep 30 & echo $!; exec sleep 30'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    onTestFinished(() => {
      parent.kill('SIGKILL')
    })
    const [printed] = await once(parent.stdout, 'data')
    const pid = Number(printed)
    // A shell would reap the process; the `sleep` that replaces it does not.
    const proc = (of: number | undefined, file: string) =>
      readFileSync(`/proc/${of}/${file}`, 'utf8')
    await waitFor('the sleep', () => proc(parent.pid, 'comm'), 'sleep\n')
    process.kill(pid, 'SIGKILL')
    await waitFor('a zombie', () => proc(pid, 'stat').includes(') Z '))
    await leaveClaim(dir, { pid, startTicks: undefined })
    expect(() => process.kill(pid, 0)).not.toThrow()
    await acquireLock(dir, HOLDER)
  })

  test.each(['', '\0\0\0\0\0\0', '{"token":"ab', 'null\n[]\n7\n'])(
    'is taken if a power cut left %j',
    async (content) => {
      const dir = temporaryDirectory()
      writeFileSync(join(dir, 'lock'), content)
      await acquireLock(dir, HOLDER)
      expect(readLock(dir)?.pid).toBe(process.pid)
    },
  )

  test('stays with its holder if invalid text follows the claim', async () => {
    const dir = temporaryDirectory()
    await acquireLock(dir, HOLDER)
    writeFileSync(join(dir, 'lock'), '{"tok', { flag: 'a' })
    await expect(acquireLock(dir, HOLDER)).rejects.toBeInstanceOf(StateLockedError)
  })

  test('goes to exactly one of 8 racing processes, 20 times, each time after a kill -9', async () => {
    const dir = temporaryDirectory()
    const contender = await childScript('test/support/process/lock-contender.ts')
    const start = async () => {
      const child = contender(dir)
      expect(await messageFrom(child)).toBe('ready')
      return child
    }
    let children = await Promise.all(Array.from({ length: 8 }, start))
    const winners: number[] = []
    for (let round = 0; round < 20; round += 1) {
      const startAtMs = Date.now() + 20
      const answers = await Promise.all(
        children.map((child) => {
          const answer = messageFrom(child)
          child.send(startAtMs)
          return answer
        }),
      )
      const holder = children[answers.indexOf('held')]
      if (holder === undefined)
        throw new Error(`no process won round ${round}: ${answers.join('; ')}`)
      expect(answers.filter((answer) => answer === 'held')).toHaveLength(1)
      expect(
        answers.filter((answer) => String(answer).includes(`held by process ${holder.pid} on`)),
      ).toHaveLength(7)
      await killHard(holder)
      winners.push(holder.pid ?? 0)
      children = [...children.filter((child) => child !== holder), await start()]
    }
    expect(new Set(winners).size).toBe(20)
    expect(readFileSync(join(dir, 'lock'), 'utf8').length).toBeGreaterThan(0)
  })

  test('is never held twice while 4 processes take and release it 40 times each', async () => {
    const dir = temporaryDirectory()
    const cycler = await childScript('test/support/process/lock-cycler.ts')
    const answers = await Promise.all(
      Array.from({ length: 4 }, () => messageFrom(cycler(dir, '40'))),
    )
    expect(answers).toEqual(['done', 'done', 'done', 'done'])
    expect(readLock(dir)).toBeUndefined()
    expect(readdirSync(dir)).toEqual([])
  })
})

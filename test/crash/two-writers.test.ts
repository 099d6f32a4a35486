import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readLock } from '../../src/store/lock/state-lock.ts'
import { audit } from '../e2e/audit.ts'
import { everySecond, sharedSandbox } from '../e2e/rehearsal.ts'
import { mayContain, run } from '../support/process/cli.ts'
import { descendantsOf } from '../support/process/kill.ts'

const rehearse = sharedSandbox()

/** A schedule without due slots during the test. */
const IDLE = { schedule: { cron: '0 0 1 1 *' } }

// Skipped when the system does not allow PID namespaces.
const testContained = test.skipIf(!mayContain())

testContained(
  'a daemon in another PID namespace of the same host does not take the state of a live daemon',
  async () => {
    const rehearsal = await rehearse(everySecond('idle', IDLE))
    const first = rehearsal.daemon()
    await first.sees(/metrics at/)
    const second = rehearsal.daemon([], { isContained: true })
    const { code, stderr, stdout } = await second.ended()
    expect(code).toBe(75)
    expect(stderr).toContain(
      `${join(rehearsal.stateDir, 'lock')}: held by process ${first.pid} on ${hostname()}`,
    )
    expect(stdout).toMatch(/waiting up to 30 s for a sign of it/i)
    expect((await first.stop()).code).toBe(0)
    expect(existsSync(join(rehearsal.stateDir, 'lock'))).toBe(false)
  },
)

testContained(
  'a suspended daemon signs and writes nothing after a second daemon takes over; a dead daemon is replaced as well',
  async () => {
    const [trading, idle] = await Promise.all([
      rehearse(everySecond('buy-weth')),
      rehearse(everySecond('idle', IDLE)),
    ])
    // A wallet trades in one process per machine, so the other daemon runs dry.
    writeFileSync(
      idle.config,
      readFileSync(idle.config, 'utf8').replace('mode: live', 'mode: dry-run'),
    )
    // Each leaves a claim from a namespace that is invisible outside: one is suspended, one is gone.
    const [stopped, dead] = [trading, idle].map((each) => each.daemon([], { isContained: true }))
    if (stopped === undefined || dead === undefined) throw new Error('two daemons were started')
    await Promise.all([stopped.sees(/filled buy-weth/), dead.sees(/metrics at/)])
    for (const pid of descendantsOf(stopped.pid)) process.kill(pid, 'SIGSTOP')
    await dead.killHard()
    expect(readLock(idle.stateDir)?.status).toBe('unknown')

    const successors = [trading, idle].map((each) => each.daemon())
    await Promise.all(
      successors.map((successor) => successor.sees(/waiting up to 30 s for a sign of it/i)),
    )
    await Promise.all(successors.map((successor) => successor.sees(/metrics at/)))
    await successors[0]?.sees(/filled buy-weth/)
    for (const pid of descendantsOf(stopped.pid)) process.kill(pid, 'SIGCONT')
    const { code, stderr } = await stopped.ended()
    expect(code).toBe(75)
    expect(stderr).toContain('another daemon has taken over the state directory')
    expect(stderr).toContain(`process ${successors[0]?.pid} on ${hostname()}`)
    expect(stderr).not.toMatch(/^\s+at /m)
    for (const successor of successors) expect((await successor.stop()).code).toBe(0)

    expect((await audit(trading)).discrepancies).toEqual([])
    const { code: status } = await run(['status', '--config', idle.config])
    expect(status).toBe(0)
  },
)

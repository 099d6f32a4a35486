import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { PROGRAM, ROOT } from '../support/process/cli.ts'
import { runProcess, temporaryDirectory } from '../support/process/programs.ts'
import { findBinary } from './binary.ts'

let directory: Awaited<ReturnType<typeof temporaryDirectory>>
let unit: string

/** The shipped unit, with an existing program. */
beforeAll(async () => {
  directory = await temporaryDirectory()
  unit = join(directory.path, 'tranched.service')
  const text = await readFile(join(ROOT, 'deploy/tranched.service'), 'utf8')
  await writeFile(
    unit,
    text.replace('ExecStart=tranched', `ExecStart=${process.execPath} ${PROGRAM}`),
  )
})

afterAll(() => directory?.remove())

const analyze = (...args: readonly string[]) => runProcess(findBinary('systemd-analyze'), args)

test('systemd accepts every line of the shipped unit', async () => {
  const { code, stdout, stderr } = await analyze('verify', '--man=no', unit)
  expect([code, stdout, stderr]).toEqual([0, '', ''])
})

test('the unit leaves little exposed to a compromised daemon', async () => {
  const { stdout } = await analyze('security', '--offline=yes', '--no-pager', unit)
  const [, exposure = ''] = /Overall exposure level for \S+: ([\d.]+)/.exec(stdout) ?? []
  expect(Number.parseFloat(exposure)).toBeLessThanOrEqual(2)
  // The daemon trades over the network.
  expect(stdout).toMatch(/PrivateNetwork=/)
})

test('systemd kills only after the drain, and exit codes that need an operator cause no restart', async () => {
  const text = await readFile(unit, 'utf8')
  expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(text)?.[1])).toBeGreaterThan(40)
  expect(text).toMatch(/^RestartPreventExitStatus=2 75 78$/m)
})

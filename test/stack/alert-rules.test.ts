import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runProcess } from '../support/process/programs.ts'
import { findBinary } from './binary.ts'

const DIR = 'config/prometheus'
const RULES = ['recording.rules.yml', 'alerts.rules.yml'].map((file) => join(DIR, file))
const TESTS = readdirSync(join(DIR, 'tests')).map((file) => join(DIR, 'tests', file))
const ALERTMANAGER = join(DIR, 'alertmanager.example.yml')

test('promtool accepts the rules and the example configuration', async () => {
  const promtool = findBinary('promtool')
  const rules = await runProcess(promtool, ['check', 'rules', ...RULES])
  expect(rules, rules.stdout + rules.stderr).toMatchObject({ code: 0, stderr: '' })
  const config = await runProcess(promtool, [
    'check',
    'config',
    join(DIR, 'prometheus.example.yml'),
  ])
  expect(config, config.stdout + config.stderr).toMatchObject({ code: 0, stderr: '' })
  expect(config.stdout).toContain('2 rule files found')
})

test.concurrent.each(TESTS)(
  'every alert of %s fires where its test expects it, with its text, and nowhere else',
  async (file) => {
    const { code, stdout, stderr } = await runProcess(findBinary('promtool'), [
      'test',
      'rules',
      file,
    ])
    expect(code, stdout + stderr).toBe(0)
    expect(stdout).toContain('SUCCESS')
  },
)

test('amtool accepts the example configuration of the Alertmanager', async () => {
  const checked = await runProcess(findBinary('amtool'), ['check-config', ALERTMANAGER])
  expect(checked, checked.stdout + checked.stderr).toMatchObject({ code: 0 })
})

test.each([
  ['critical', 'night'],
  ['warning', 'day'],
  ['info', 'notes'],
  ['unheard-of', 'day'],
])('an alert of severity %s goes to the receiver %s', async (severity, receiver) => {
  const labels = ['alertname=TranchedAny', 'instance=alpha', `severity=${severity}`]
  const routes = ['config', 'routes', 'test', `--config.file=${ALERTMANAGER}`, ...labels]
  const { code, stdout } = await runProcess(findBinary('amtool'), routes)
  expect({ code, receiver: stdout.trim() }).toEqual({ code: 0, receiver })
})

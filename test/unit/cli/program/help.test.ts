import { expect, test } from 'vitest'
import { helpOf, leaves, theProgram } from './program.ts'

const COMMANDS = leaves(theProgram())

test.each(COMMANDS)('%s --help shows examples with valid options', (name, command) => {
  const [, examples = ''] = helpOf(command).split('\nExamples:\n')
  const lines = examples.split('\n').filter((line) => line !== '')
  expect(lines).not.toEqual([])
  for (const line of lines) {
    expect(line).toMatch(new RegExp(`^  tranched ${name}( |$)`))
    const known = command.options.map(({ long }) => long)
    const typed = line.match(/(?<= )--[a-z-]+/g) ?? []
    expect(known).toEqual(expect.arrayContaining(typed))
  }
})

test('every command has examples', () => {
  expect(COMMANDS.length).toBeGreaterThan(30)
  const examples = COMMANDS.flatMap(([, command]) =>
    helpOf(command).split('\nExamples:\n').slice(1),
  )
  expect(examples).toHaveLength(COMMANDS.length)
})

test('every command and option has a description', () => {
  for (const [name, command] of COMMANDS) {
    expect([name, command.description()]).not.toContain('')
    for (const option of command.options)
      expect([name, option.flags, option.description]).not.toContain('')
  }
})

test('a command that is made alone has the help that it has among all', () => {
  for (const whole of theProgram().commands) {
    const name = whole.name()
    const made = theProgram(name).commands
    if (['help', 'complete'].includes(name)) expect(made.length).toBe(theProgram().commands.length)
    else expect(made.map((each) => each.name())).toEqual([name, 'help'])
    expect(made.filter((each) => each.name() === name).map(helpOf)).toEqual([helpOf(whole)])
  }
})

test('a first word that is no command makes all commands', () => {
  for (const first of ['stat', '--json', '', '__proto__'])
    expect(theProgram(first).commands.length, first).toBe(theProgram().commands.length)
})

/*
 * Each script asks the program for completions: `tranched complete -- WORDS` prints one candidate per line, with a tab
 * before its description, or a single line `:files` or `:directories`.
 */

const BASH = `# bash completion of tranched
_tranched() {
  local answer line IFS=$'\\n'
  COMPREPLY=()
  answer=$(tranched complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null) || return
  for line in $answer; do
    case $line in
      :files) compopt -o default ;;
      :directories) compopt -o dirnames ;;
      *) COMPREPLY+=("\${line%%$'\\t'*}") ;;
    esac
  done
}
complete -F _tranched tranched
`

const ZSH = `#compdef tranched
_tranched() {
  local line
  local -a lines candidates
  lines=("\${(@f)$(tranched complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  for line in $lines; do
    case $line in
      :files) _files; return ;;
      :directories) _files -/; return ;;
      *) candidates+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}") ;;
    esac
  done
  (( $#candidates )) && _describe tranched candidates
}
if [[ $funcstack[1] == _tranched ]]; then
  _tranched
else
  compdef _tranched tranched
fi
`

const FISH = `# fish completion of tranched
function __tranched_complete
  set -l current (commandline -ct)
  set -l words (commandline -opc)
  set -l lines (tranched complete -- $words[2..-1] "$current" 2>/dev/null)
  switch "$lines[1]"
    case :files
      __fish_complete_path "$current"
    case :directories
      __fish_complete_directories "$current"
    case '*'
      string join \\n -- $lines
  end
end
complete -c tranched -f -a '(__tranched_complete)'
`

export const SCRIPTS: Readonly<Record<string, string>> = { bash: BASH, zsh: ZSH, fish: FISH }

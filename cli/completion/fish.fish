# Completion of drover for fish. `drover completion fish` prints it.
function __drover_complete
    set -l typed (commandline -ct)
    set -l before (commandline -opc)
    set -l lines (drover complete fish -- $before[2..-1] "$typed" 2>/dev/null)
    # What stands before the equals sign stays.
    set -l flag (string match -r -- '^--[^=]*=' "$typed")
    set -l path (string replace -r -- '^--[^=]*=' '' "$typed")
    switch "$lines[1]"
        case words
            printf '%s\n' $lines[2..-1]
        case files
            for found in (__fish_complete_path "$path")
                echo "$flag$found"
            end
        case directories
            for found in (__fish_complete_directories "$path")
                echo "$flag$found"
            end
        case commands
            complete -C "$typed"
    end
end
complete -c drover -f -a '(__drover_complete)'

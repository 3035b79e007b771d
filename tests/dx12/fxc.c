// Compiles HLSL files by Microsoft's d3dcompiler_47.dll as wgpu does on DX12 without DXC, and prints seconds of each.
//   fxc.exe SECONDS < names
// Names of files come one per line.
// One line per file: its name, the seconds of processor time, then the bytes of the result or the messages. A file
// that takes longer than SECONDS ends the program with status 3, since a thread of the compiler cannot be stopped.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

#include <d3dcommon.h>

typedef HRESULT(WINAPI *compile_fn)(const void *, SIZE_T, const char *, const void *, void *, const char *, const char *,
                                    UINT, UINT, ID3DBlob **, ID3DBlob **);

// D3DCOMPILE_ENABLE_STRICTNESS.
static const UINT FLAGS = 1 << 11;

static compile_fn compile;
static char path[4096];

static double seconds_of(HANDLE thread) {
    FILETIME made, ended, kernel, user;
    if (!GetThreadTimes(thread, &made, &ended, &kernel, &user)) return 0.0;
    ULONGLONG ticks = ((ULONGLONG)kernel.dwHighDateTime << 32 | kernel.dwLowDateTime) +
                      ((ULONGLONG)user.dwHighDateTime << 32 | user.dwLowDateTime);
    return ticks / 1e7;
}

static DWORD WINAPI run(void *unused) {
    (void)unused;
    FILE *file = fopen(path, "rb");
    if (!file) {
        printf("%s\t0\tcannot be read\n", path);
        return 1;
    }
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    char *text = malloc(size + 1);
    size = (long)fread(text, 1, size, file);
    fclose(file);
    ID3DBlob *code = NULL, *messages = NULL;
    double before = seconds_of(GetCurrentThread());
    HRESULT result = compile(text, size, NULL, NULL, NULL, "main", "cs_5_1", FLAGS, 0, &code, &messages);
    double seconds = seconds_of(GetCurrentThread()) - before;
    free(text);
    if (result >= 0) {
        printf("%s\t%.2f\t%lu bytes\n", path, seconds, (unsigned long)code->lpVtbl->GetBufferSize(code));
        return 0;
    }
    printf("%s\t%.2f\terror %08lx: ", path, seconds, (unsigned long)result);
    if (messages) {
        // The messages have several lines, the output one per file.
        const char *said = messages->lpVtbl->GetBufferPointer(messages);
        for (SIZE_T at = 0; at < messages->lpVtbl->GetBufferSize(messages) && said[at]; at++)
            putchar(said[at] == '\n' || said[at] == '\r' ? ' ' : said[at]);
    }
    putchar('\n');
    return 1;
}

int main(int count, char **arguments) {
    if (count != 2) {
        fprintf(stderr, "fxc.exe SECONDS < names\n");
        return 2;
    }
    double limit = atof(arguments[1]);
    HMODULE library = LoadLibraryA("d3dcompiler_47.dll");
    compile = library ? (compile_fn)(void *)GetProcAddress(library, "D3DCompile") : NULL;
    if (!compile) {
        fprintf(stderr, "no d3dcompiler_47.dll\n");
        return 2;
    }
    int status = 0;
    while (fgets(path, sizeof path, stdin)) {
        path[strcspn(path, "\r\n")] = 0;
        HANDLE thread = CreateThread(NULL, 0, run, NULL, 0, NULL);
        while (WaitForSingleObject(thread, 100) == WAIT_TIMEOUT) {
            if (seconds_of(thread) <= limit) continue;
            printf("%s\t%.2f\ttakes longer\n", path, seconds_of(thread));
            fflush(stdout);
            ExitProcess(3);
        }
        DWORD code = 1;
        GetExitCodeThread(thread, &code);
        CloseHandle(thread);
        if (code) status = 1;
        fflush(stdout);
    }
    return status;
}

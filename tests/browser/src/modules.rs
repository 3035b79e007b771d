use gpu_broad_phase::shaders;

use crate::Say;
use crate::gpu::Gpu;

pub async fn compile(gpu: &Gpu, say: Say<'_>) {
    let has = gpu.device.features();
    let mut count = 0;
    for pass in shaders::passes().filter(|pass| has.contains(pass.features())) {
        let module = gpu.device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some(pass.name),
            source: wgpu::ShaderSource::Wgsl(pass.source().into()),
        });
        let said = module.get_compilation_info().await.messages;
        assert!(said.is_empty(), "{}: {said:?}", pass.name);
        count += 1;
    }
    say(&format!(
        "{:?} device: {count} of {} modules compile without a remark",
        gpu.kind,
        shaders::passes().count()
    ));
}
